"""`checkify`: the first error of a program is that of JAX, also in loops, branches and batches."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import numpy as np
import pytest
from jax.experimental import checkify as their_checkify

import olympus as ox
from olympus.errors import ArgumentError, CheckError, TransformError
from olympus.experimental import checkify

Program = Callable[[Any, Any, Any], Any]
ZEROS = np.zeros((2, 2), np.float32)
X = np.asarray([1.0, -2.0, 3.0], np.float32)
COUNTS = np.arange(3, dtype=np.int32)
MATRIX = np.arange(6, dtype=np.float32).reshape(3, 2)


def positive(c: Any, x: Any) -> None:
    c.check(x > 0, "{x} must be positive", x=x)


def in_scan(p: Any, c: Any, x: Any) -> Any:
    def body(total: Any, y: Any) -> Any:
        positive(c, y)
        return total + y, y

    return p.lax.scan(body, 0.0, x)


def in_while(p: Any, c: Any, x: Any) -> Any:
    def body(y: Any) -> Any:
        positive(c, 2.0 - y)
        return y + 1

    return p.lax.while_loop(lambda y: y < 5, body, x[0])


def in_condition(p: Any, c: Any, x: Any) -> Any:
    def condition(y: Any) -> Any:
        positive(c, 2.0 - y)
        return y < 5

    return p.lax.while_loop(condition, lambda y: y + 1, x[0])


def in_branch(p: Any, c: Any, x: Any) -> Any:
    def checked(y: Any) -> Any:
        positive(c, y[1])
        return y

    return p.lax.cond(x[0] > 0, checked, lambda y: y, x)


def in_other_branch(p: Any, c: Any, x: Any) -> Any:
    def checked(y: Any) -> Any:
        positive(c, y[1])
        return y

    return p.lax.cond(x[0] > 0, lambda y: y, checked, x)


def twice(p: Any, c: Any, x: Any) -> Any:
    f = p.jit(lambda y: (positive(c, y), y)[1])
    return f(x[0]) + f(x[1]) + f(-x[2])


PROGRAMS: dict[str, tuple[Program, str, tuple[Any, ...]]] = {
    "user": (lambda p, c, x: positive(c, x), "user_checks", (np.float32(-1),)),
    "no failure": (lambda p, c, x: positive(c, x), "all_checks", (np.float32(1),)),
    "first of two": (lambda p, c, x: (positive(c, x[1]), positive(c, -x[0])), "all_checks", (X,)),
    "not enabled": (lambda p, c, x: positive(c, x[1]), "nan_checks", (X,)),
    "nan": (lambda p, c, x: p.numpy.log(x), "float_checks", (X,)),
    "nan of a solution": (lambda p, c, x: p.numpy.linalg.inv(x), "nan_checks", (ZEROS,)),
    "nan of two": (lambda p, c, x: p.numpy.sqrt(x) + p.numpy.log(x), "nan_checks", (X,)),
    "nan argument": (lambda p, c, x: x.reshape(1), "nan_checks", (np.float32("nan"),)),
    "division": (lambda p, c, x: x / (x - 1), "div_checks", (X,)),
    "integer division": (
        lambda p, c, x: x // (x - 1),
        "all_checks",
        (np.arange(3, dtype=np.int32),),
    ),
    "static index": (lambda p, c, x: x[5], "index_checks", (X,)),
    "dynamic index": (lambda p, c, x: x[x[2] * 2], "all_checks", (COUNTS,)),
    "gather": (lambda p, c, x: x[p.numpy.asarray([1, 7])], "index_checks", (MATRIX,)),
    "scatter": (lambda p, c, x: x.at[p.numpy.asarray([1, 7])].set(0), "all_checks", (MATRIX,)),
    "static update": (lambda p, c, x: x.at[4, 1].add(1.0), "index_checks", (MATRIX,)),
    "inside": (lambda p, c, x: x[-3, 1], "index_checks", (MATRIX,)),
    "dynamic slice": (
        lambda p, c, x: p.lax.dynamic_slice(x, (2,), (2,)),
        "automatic_checks",
        (X,),
    ),
    "update slice": (
        lambda p, c, x: p.lax.dynamic_update_slice(x, x[:2], (2,)),
        "automatic_checks",
        (X,),
    ),
    "scan": (in_scan, "all_checks", (X,)),
    "while": (in_while, "all_checks", (X,)),
    "condition": (in_condition, "all_checks", (X,)),
    "branch": (in_branch, "all_checks", (X,)),
    "other branch": (in_other_branch, "all_checks", (X,)),
    "jit twice": (twice, "all_checks", (X,)),
    "nan in scan": (
        lambda p, c, x: p.lax.scan(lambda t, y: (t + p.numpy.log(y), y), 0.0, x),
        "nan_checks",
        (X,),
    ),
    "checkpoint": (
        lambda p, c, x: p.checkpoint(lambda y: (positive(c, y[1]), y)[1])(x),
        "user_checks",
        (X,),
    ),
    "of a gradient": (
        lambda p, c, x: p.grad(lambda y: (positive(c, y[1]), y.sum())[1])(x),
        "user_checks",
        (X,),
    ),
    "custom derivative": (lambda p, c, x: p.nn.relu(p.numpy.log(x)), "nan_checks", (X,)),
}


NO_FAILURE = ("no failure", "not enabled", "nan argument", "inside", "other branch")


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_error_is_that_of_jax(name: str) -> None:
    program, errors, args = PROGRAMS[name]
    expected = run(jax, their_checkify, program, errors, args)
    assert run(ox, checkify, program, errors, args) == expected
    assert (expected is None) == (
        name in ("no failure", "not enabled", "nan argument", "inside", "other branch")
    )


def run(package: Any, checks: Any, program: Program, errors: str, args: Any) -> str | None:
    def f(*args: Any) -> Any:
        return program(package, checks, *args)

    args = tuple(map(package.numpy.asarray, args))
    checked = checks.checkify(f, errors=getattr(checks, errors))
    error, _ = package.jit(checked)(*args)
    assert error.get() == checked(*args)[0].get()
    message: str | None = error.get()
    return message


def test_an_error_of_a_batch_has_the_indices() -> None:
    def message(package: Any, checks: Any) -> Any:
        def f(x: Any) -> Any:
            positive(checks, x)
            return x

        error, _ = package.vmap(checks.checkify(f))(X)
        return error.get()

    assert message(ox, checkify) == message(jax, their_checkify)
    error, _ = checkify.checkify(lambda x: ox.vmap(lambda y: positive(checkify, y))(x))(X)
    assert error.get() == "-2.0 must be positive (`check` failed)"


def test_an_error_is_thrown_with_the_line() -> None:
    error, _ = checkify.checkify(lambda x: positive(checkify, x))(-1.0)
    with pytest.raises(ValueError, match=r"-1\.0 must be positive.*test_checkify\.py") as caught:
        error.throw()
    assert isinstance(caught.value, CheckError)
    assert repr(error) == "Error(-1.0 must be positive (`check` failed))"
    assert str(error.get_exception()) == "-1.0 must be positive (`check` failed)"
    error, result = checkify.checkify(lambda x: x)(-1.0)
    assert (error.get(), error.get_exception(), error.throw(), result) == (None, None, None, -1.0)
    assert checkify.init_error.get() is None


def test_checks_outside_of_checkify() -> None:
    checkify.check(True, "not raised")
    with pytest.raises(CheckError, match=r"x is 3 \(`check` failed\)"):
        checkify.check(ox.numpy.asarray(False), "x is {}", np.int32(3))
    with pytest.raises(TransformError, match="not functionalized"):
        ox.jit(lambda x: positive(checkify, x))(1.0)
    checkify.debug_check(False, "not raised")
    ox.jit(lambda x: checkify.debug_check(x > 1, "not raised"))(0.0)
    error, _ = checkify.checkify(lambda x: checkify.debug_check(x > 1, "raised"))(0.0)
    assert error.get() == "raised (`check` failed)"


def test_an_error_is_checked_again() -> None:
    inner = checkify.checkify(lambda x: positive(checkify, x))

    def outer(x: Any) -> None:
        error, _ = inner(x)
        checkify.check_error(error)

    assert checkify.checkify(outer)(-1.0)[0].get() == "-1.0 must be positive (`check` failed)"
    with pytest.raises(CheckError):
        outer(-1.0)
    batch, _ = checkify.checkify(lambda x: checkify.check_error(ox.vmap(inner)(x)[0]))(X)
    assert batch.get() == "-2.0 must be positive (`check` failed)"


def test_arguments_that_are_refused() -> None:
    for pred in (1, np.ones(2) > 0, "text"):
        with pytest.raises(TypeError, match="check takes a scalar pred"):
            checkify.check(pred, "no")
    with pytest.raises(TypeError, match="need to be PyTrees of arrays"):
        checkify.check(True, "{}", "text")
    with pytest.raises(IndexError):
        checkify.check(True, "{} {}", np.int32(1))
    with pytest.raises(ArgumentError, match="check_error takes an Error"):
        checkify.check_error(3)  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="errors must be a set"):
        checkify.checkify(lambda x: x, errors={3})  # type: ignore[arg-type]
