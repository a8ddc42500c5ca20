"""A table of calls on OLYMPUS and on JAX, whose values, dtypes, weakness and shapes must agree.

A group of rows is traced and compiled as one program on each side, so that a row costs little.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy
import numpy as np

import olympus as ox

__all__ = ["Row", "check", "check_derivatives", "check_types", "disagreements", "row"]

_LOW_PRECISION = {"bfloat16": 2e-2, "float16": 2e-3}


@dataclass(frozen=True)
class Row:
    """A call on a namespace like numpy's, and its array arguments; tolerances are for floats."""

    id: str
    call: Callable[..., Any]
    args: tuple[Any, ...] = ()
    rtol: float = 2e-6
    atol: float = 2e-6


def row(
    id: str, call: Callable[..., Any], *args: Any, rtol: float = 2e-6, atol: float = 2e-6
) -> Row:
    """Return a row with NumPy arrays (or lists of numbers, as float32) as arguments."""
    arrays = [np.asarray(a, np.float32) if isinstance(a, list) else a for a in args]
    return Row(id, call, tuple(arrays), rtol, atol)


Runner = Callable[[Callable[..., Any], list[Any]], list[Any]]


def _evaluate(package: Any, rows: Sequence[Row], run: Runner) -> list[Any]:
    """Return the result of each row, or the exception that it raised."""
    raised: dict[int, Exception] = {}

    def program(args: Any) -> list[Any]:
        results = []
        for i, (entry, operands) in enumerate(zip(rows, args, strict=True)):
            try:
                results.append(entry.call(package.numpy, *operands))
            except Exception as e:
                raised[i] = e
                results.append(None)
        return results

    results = run(program, [r.args for r in rows])
    return [raised.get(i, result) for i, result in enumerate(results)]


def _type(x: Any) -> str:
    """Return the dtype, the shape and, except for bools, the weakness."""
    weak = "*" if getattr(x, "weak_type", False) and x.dtype != np.bool_ else ""
    return f"{x.dtype}{weak}{list(x.shape)}"


def _leaves(x: Any) -> list[Any]:
    if isinstance(x, (list, tuple)):
        return [leaf for item in x for leaf in _leaves(item)]
    return [x]


def _difference(entry: Row, ours: Any, theirs: Any, weak: bool) -> str | None:
    """Return the difference between the results of a row (of types, if without values), or None."""
    if isinstance(theirs, Exception):
        return f"the oracle raised {theirs!r}"
    if isinstance(ours, Exception):
        return f"raised {type(ours).__name__}: {ours}"
    ours, theirs = _leaves(ours), _leaves(theirs)
    if len(ours) != len(theirs):
        return f"{len(ours)} results, not {len(theirs)}"
    for a, b in zip(ours, theirs, strict=True):
        if not hasattr(b, "dtype"):
            if a != b:
                return f"{a!r}, not {b!r}"
            continue
        actual_type, expected_type = _type(a), _type(b)
        if actual_type != expected_type and (
            weak or actual_type.replace("*", "") != expected_type.replace("*", "")
        ):
            return f"{actual_type}, not {expected_type}"
        if isinstance(b, jax.ShapeDtypeStruct):
            continue
        x, y = np.asarray(a), np.asarray(b)
        rtol = max(entry.rtol, _LOW_PRECISION.get(str(y.dtype), 0))
        atol = max(entry.atol, rtol if rtol > 1e-3 else 0)
        if y.dtype.kind not in "biu":
            wide = np.complex128 if y.dtype.kind == "c" else np.float64
            x, y = x.astype(wide), y.astype(wide)
        wrong = np.argwhere(~np.isclose(x, y, rtol=rtol, atol=atol, equal_nan=True))
        if len(wrong):
            at = tuple(wrong[0])
            return f"{x[at]!r}, not {y[at]!r}, at {at} and {len(wrong) - 1} other places"
    return None


def _compare(rows: Sequence[Row], ours: Runner, theirs: Runner, weak: bool) -> None:
    results = zip(rows, _evaluate(ox, rows, ours), _evaluate(jax, rows, theirs), strict=True)
    differences = [(entry, _difference(entry, a, b, weak)) for entry, a, b in results]
    messages = [f"{entry.id}: {text}" for entry, text in differences if text is not None]
    assert not messages, "\n".join(messages)


def disagreements(rows: Sequence[Row], *, values: bool = True) -> list[tuple[Row, str]]:
    """Return the rows whose results differ in type or value, or of which only one raises."""
    if values:
        ours = _evaluate(ox, rows, lambda f, args: ox.jit(f)(args))
        theirs = _evaluate(jax, rows, lambda f, args: jax.jit(f)(args))
    else:
        ours, theirs = _evaluate(ox, rows, ox.eval_shape), _evaluate(jax, rows, jax.eval_shape)
    differences = []
    for entry, a, b in zip(rows, ours, theirs, strict=True):
        raised = isinstance(a, Exception), isinstance(b, Exception)
        text = None if all(raised) else _difference(entry, a, b, weak=True)
        if raised == (False, True):
            text = f"gave {_types(a)}, and the oracle raised {b!r:.200}"
        if text is not None:
            differences.append((entry, text))
    return differences


def _types(x: Any) -> str:
    return ", ".join(_type(leaf) for leaf in _leaves(x) if hasattr(leaf, "dtype"))


def check(
    rows: Sequence[Row], *, jit: bool = True, jit_oracle: bool = True, weak: bool = True
) -> None:
    """Run the rows on both sides, and fail with every difference.

    With `jit`, OLYMPUS compiles the rows as one program; otherwise each operation is eager. JAX
    compiles one program in less time than the operations of the rows, so `jit_oracle` is False
    only for rows that it cannot compile, because a shape depends on values.
    """

    def runner(package: Any, compiled: bool) -> Runner:
        return lambda f, args: (package.jit(f) if compiled else f)(args)

    oracle = runner(jax, jit_oracle)
    _compare(rows, runner(ox, jit), oracle, weak)


def check_types(rows: Sequence[Row], *, weak: bool = True) -> None:
    """Trace the rows on both sides, and fail with every difference of shape, dtype or weakness."""
    _compare(rows, ox.eval_shape, jax.eval_shape, weak)


def check_derivatives(f: Callable[[Any, Any], Any], x: Any) -> None:
    """Compare gradient and hessian of the scalar function `f` of a namespace like numpy's and x."""

    def derivatives(package: Any) -> Any:
        def entry(x: Any) -> Any:
            return f(package.numpy, x)

        return package.jit(lambda x: (package.grad(entry)(x), package.hessian(entry)(x)))(x)

    for result, expected in zip(derivatives(ox), derivatives(jax), strict=True):
        scale = np.abs(np.asarray(expected)).max()
        np.testing.assert_allclose(result, expected, rtol=1e-7, atol=1e-9 * scale)
