"""The ufuncs of olympus.numpy and `frompyfunc` against those of JAX."""

from __future__ import annotations

import operator
from typing import Any

import jax
import jax.numpy
import numpy as np
import pytest

import olympus as ox
from tests.library.oracle import Row, check, row

INTS = np.asarray([[3, -1, 4, 1], [5, 9, -2, 6], [5, 3, 5, -8]], np.int32)
FLOATS = (INTS * 0.375).astype(np.float32)
BOOLS = INTS > 2
INDICES = np.asarray([0, 2, 2, 1], np.int32)
MASK = INTS % 2 == 1
IDENTITIES = {
    "add": 0, "multiply": 1, "bitwise_and": -1, "bitwise_or": 0, "bitwise_xor": 0,
    "logical_and": True, "logical_or": False, "logical_xor": False, "subtract": None,
    "maximum": None, "minimum": None, "logaddexp": -np.inf, "logaddexp2": -np.inf,
}  # fmt: skip
BITS = ("bitwise_and", "bitwise_or", "bitwise_xor")


def custom(np_like: Any, function: Any = None, **options: Any) -> Any:
    return np_like.frompyfunc(function or (lambda x, y: 2 * x + y), 2, 1, **options)


def operands(name: str) -> list[np.ndarray[Any, Any]]:
    if name in BITS:
        return [INTS]
    return [FLOATS] if name.startswith("logadd") else [FLOATS, INTS]


def reductions() -> list[Row]:
    rows = []
    for name, identity in IDENTITIES.items():
        for a in operands(name):
            for axis in (0, 1, -1, None):
                rows.append(
                    row(f"{name} {a.dtype} {axis}", lambda m, x, n=name, axis=axis: (
                        getattr(m, n).reduce(x, axis=axis),
                        getattr(m, n).reduce(x, axis=axis, keepdims=True, initial=x.dtype.type(2))
                        ), a, rtol=1e-5)
                )  # fmt: skip
            if identity is not None:
                rows.append(
                    row(f"{name} where", lambda m, x, w, n=name:
                        getattr(m, n).reduce(x, where=w), a, MASK)
                )  # fmt: skip
    for name in ("add", "multiply", "logical_and", "logical_or"):
        rows += [
            row(f"{name} of bools", lambda m, x, n=name: getattr(m, n).reduce(x), BOOLS),
            row(f"{name} axes", lambda m, x, n=name: getattr(m, n).reduce(x, axis=(0, 1)), FLOATS),
            row(f"{name} empty", lambda m, x, n=name: getattr(m, n).reduce(x), FLOATS[:0]),
        ]
    return rows


def loops() -> list[Row]:
    rows = []
    for name in IDENTITIES:
        for a in operands(name):
            rows += [
                row(f"{name} accumulate", lambda m, x, n=name: (
                    getattr(m, n).accumulate(x), getattr(m, n).accumulate(x, axis=-1)), a,
                    rtol=1e-5),
                row(f"{name} reduceat", lambda m, x, i, n=name: (
                    getattr(m, n).reduceat(x, i), getattr(m, n).reduceat(x, i, axis=1)),
                    a, INDICES, rtol=1e-5),
                row(f"{name} outer", lambda m, x, n=name: getattr(m, n).outer(x, x[0]), a,
                    rtol=1e-5),
                row(f"{name} at", lambda m, x, i, b, n=name: (
                    getattr(m, n).at(x, i, b[0, 0], inplace=False),
                    getattr(m, n).at(x, (i, i), b[0], inplace=False),
                    getattr(m, n).at(x, 1, b[0], inplace=False),
                    ), a, INDICES, np.abs(a)),
            ]  # fmt: skip
    return rows


def customs() -> list[Row]:
    return [
        row("call", lambda m, x: custom(m)(x, x[0]), FLOATS),
        row("several results", lambda m, x: m.frompyfunc(lambda a: (a, a + 1), 1, 2)(x), INTS),
        row("comparison", lambda m, x: custom(m, operator.lt).reduce(x), INTS),
        row("reduce", lambda m, x: custom(m).reduce(x, axis=1), INTS),
        row("reduce identity", lambda m, x: custom(m, identity=3).reduce(x), INTS),
        row("empty", lambda m, x: custom(m, identity=3).reduce(x), FLOATS[:0]),
        row("empty columns", lambda m, x: custom(m).reduce(x), FLOATS[:, :0]),
        row("where", lambda m, x, w: custom(m).reduce(x, axis=None, where=w, initial=1.0),
            FLOATS, MASK),
        row("dtype", lambda m, x: custom(m).reduce(x, dtype="float32"), INTS),
        row("scalar initial", lambda m, x: custom(m).reduce(x, initial=2, keepdims=True), FLOATS),
        row("accumulate", lambda m, x: custom(m).accumulate(x, axis=1, dtype="float16"), INTS),
        row("accumulate empty", lambda m, x: custom(m).accumulate(x), FLOATS[:, :0]),
        row("reduceat", lambda m, x, i: custom(m).reduceat(x, i, axis=1), FLOATS, INDICES),
        row("outer", lambda m, x: custom(m).outer(x, 2), FLOATS),
        row("at", lambda m, x, i: custom(m).at(x, i, 2, inplace=False), FLOATS, INDICES),
        row("unary at", lambda m, x, i: m.negative.at(x, i, inplace=False), FLOATS, INDICES),
        row("gradient", lambda m, x: PACKAGES[m].grad(
            lambda v: custom(m, lambda a, b: a * m.sin(b)).reduce(v).sum())(x), FLOATS),
        row("vmap", lambda m, x: PACKAGES[m].vmap(custom(m).reduce)(x), FLOATS),
        row("jit of a ufunc", lambda m, x: PACKAGES[m].jit(m.add)(x, 1), FLOATS),
        row("vmap of a ufunc", lambda m, x: PACKAGES[m].vmap(m.maximum, (0, None))(x, 1), FLOATS),
    ]  # fmt: skip


PACKAGES = {ox.numpy: ox, jax.numpy: jax}


@pytest.mark.parametrize("table", [reductions, loops, customs], ids=lambda f: f.__name__)
def test_values(table: Any) -> None:
    check(table())


def test_eager_values() -> None:
    check(customs()[:8], jit=False)


SLICES: list[Any] = [
    (INDICES[:2], slice(1, 3)), (slice(None), 1), (slice(2), INDICES), (..., -1), MASK, None,
]  # fmt: skip


@pytest.mark.parametrize("index", SLICES, ids=str)
@pytest.mark.parametrize("name", ["subtract", "maximum", "bitwise_xor"])
def test_updates_at_slices_are_numpys(name: str, index: Any) -> None:
    expected, other = INTS.copy(), 3
    getattr(np, name).at(expected, index, other)
    result = getattr(ox.numpy, name).at(INTS, index, other, inplace=False)
    np.testing.assert_array_equal(result, expected)


def test_updates_outside_of_the_array_are_dropped() -> None:
    result = ox.numpy.logical_xor.at(BOOLS[0], np.asarray([9, 0, -4]), True, inplace=False)
    np.testing.assert_array_equal(result, BOOLS[0])


def test_properties() -> None:
    names = {n for n in dir(jax.numpy) if isinstance(getattr(jax.numpy, n), jax.numpy.ufunc)}
    assert names == {n for n in dir(ox.numpy) if isinstance(getattr(ox.numpy, n), ox.numpy.ufunc)}
    for name in names:
        ours, theirs = getattr(ox.numpy, name), getattr(jax.numpy, name)
        for attribute in ("nin", "nout", "nargs", "identity", "__name__"):
            assert getattr(ours, attribute) == getattr(theirs, attribute), name
        assert repr(ours) == repr(theirs)
        assert ours.__doc__
    one, other = (ox.numpy.frompyfunc(operator.add, 2, 1, identity=0) for _ in range(2))
    assert one == other
    assert hash(one) == hash(other)
    assert one != ox.numpy.frompyfunc(operator.add, 2, 1)
    assert one != ox.numpy.add


ERRORS: dict[str, Any] = {
    "out": lambda m: m.add(1, 2, out=m.ones(2)),
    "where": lambda m: m.add(1, 2, where=True),
    "reduce out": lambda m: m.add.reduce(m.ones(2), out=1),
    "where without identity": lambda m: m.subtract.reduce(m.ones(2), where=m.ones(2, bool)),
    "where of ints": lambda m: custom(m).reduce(m.ones(2), where=m.ones(2, int), initial=0),
    "empty": lambda m: m.maximum.reduce(m.ones(0)),
    "empty custom": lambda m: custom(m).reduce(m.ones(0)),
    "axis": lambda m: custom(m).reduce(m.ones(2), axis=3),
    "axes": lambda m: custom(m).reduce(m.ones((2, 2)), axis=(0, 1)),
    "unary reduce": lambda m: m.negative.reduce(m.ones(2)),
    "unary accumulate": lambda m: m.negative.accumulate(m.ones(2)),
    "unary reduceat": lambda m: m.negative.reduceat(m.ones(2), m.zeros(1, int)),
    "unary outer": lambda m: m.negative.outer(m.ones(2), m.ones(2)),
    "two results": lambda m: m.frompyfunc(lambda a, b: (a, b), 2, 2).reduce(m.ones(2)),
    "accumulate axes": lambda m: custom(m).accumulate(m.ones(2), axis=None),
    "reduceat of a scalar": lambda m: m.add.reduceat(1.0, m.zeros(1, int)),
    "reduceat indices": lambda m: m.add.reduceat(m.ones(2), m.zeros((1, 1), int)),
    "reduceat axes": lambda m: m.add.reduceat(m.ones(2), m.zeros(1, int), axis=None),
    "at in place": lambda m: m.add.at(m.ones(2), 0, 1),
    "list": lambda m: m.add([1, 2], 1),
    "list reduce": lambda m: m.add.reduce([1, 2]),
    "floats": lambda m: m.bitwise_or.reduce(m.ones(2)),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors_are_of_the_classes_of_jax(name: str) -> None:
    with pytest.raises(Exception) as theirs:
        ERRORS[name](jax.numpy)
    with pytest.raises(ox.errors.TraceError) as ours:
        ERRORS[name](ox.numpy)
    assert issubclass(ours.type, theirs.type), (ours.type, theirs.value)
