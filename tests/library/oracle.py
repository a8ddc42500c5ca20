"""A table of calls, run on OLYMPUS and on JAX: value, dtype, weakness and shape must agree.

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
    """A row with NumPy arrays (or lists of numbers, as float32) as arguments."""
    arrays = [np.asarray(a, np.float32) if isinstance(a, list) else a for a in args]
    return Row(id, call, tuple(arrays), rtol, atol)


Runner = Callable[[Callable[..., Any], list[Any]], list[Any]]


def _evaluate(package: Any, rows: Sequence[Row], run: Runner) -> list[Any]:
    """The results of the rows; in place of a result, what it raised."""
    raised: dict[int, Exception] = {}

    def program(args: Any) -> list[Any]:
        results = []
        for i, (one, operands) in enumerate(zip(rows, args, strict=True)):
            try:
                results.append(one.call(package.numpy, *operands))
            except Exception as e:
                raised[i] = e
                results.append(None)
        return results

    results = run(program, [r.args for r in rows])
    return [raised.get(i, result) for i, result in enumerate(results)]


def _type(x: Any) -> str:
    """Dtype, shape and, of what is not bool, weakness."""
    weak = "*" if getattr(x, "weak_type", False) and x.dtype != np.bool_ else ""
    return f"{x.dtype}{weak}{list(x.shape)}"


def _leaves(x: Any) -> list[Any]:
    if isinstance(x, (list, tuple)):
        return [leaf for item in x for leaf in _leaves(item)]
    return [x]


def _difference(one: Row, ours: Any, theirs: Any, weak: bool) -> str | None:
    """How the results of a row differ, if they do; of types alone, where they have no values."""
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
        have, want = _type(a), _type(b)
        if have != want and (weak or have.replace("*", "") != want.replace("*", "")):
            return f"{have}, not {want}"
        if isinstance(b, jax.ShapeDtypeStruct):
            continue
        x, y = np.asarray(a), np.asarray(b)
        rtol = max(one.rtol, _LOW_PRECISION.get(str(y.dtype), 0))
        atol = max(one.atol, rtol if rtol > 1e-3 else 0)
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
    differences = [(one, _difference(one, a, b, weak)) for one, a, b in results]
    found = [f"{one.id}: {text}" for one, text in differences if text is not None]
    assert not found, "\n".join(found)


def disagreements(rows: Sequence[Row], *, values: bool = True) -> list[tuple[Row, str]]:
    """The rows where the sides differ: in type, value, or in that one of them raises an error."""
    if values:
        ours = _evaluate(ox, rows, lambda f, args: ox.jit(f)(args))
        theirs = _evaluate(jax, rows, lambda f, args: jax.jit(f)(args))
    else:
        ours, theirs = _evaluate(ox, rows, ox.eval_shape), _evaluate(jax, rows, jax.eval_shape)
    found = []
    for one, a, b in zip(rows, ours, theirs, strict=True):
        both = isinstance(a, Exception), isinstance(b, Exception)
        text = None if all(both) else _difference(one, a, b, weak=True)
        if both == (False, True):
            text = f"gave {_types(a)}, and the oracle raised {b!r:.200}"
        if text is not None:
            found.append((one, text))
    return found


def _types(x: Any) -> str:
    return ", ".join(_type(leaf) for leaf in _leaves(x) if hasattr(leaf, "dtype"))


def check(rows: Sequence[Row], *, jit: bool = True, weak: bool = True) -> None:
    """Run the rows on both sides, and fail with every difference."""
    if jit:
        _compare(rows, lambda f, args: ox.jit(f)(args), lambda f, args: jax.jit(f)(args), weak)
    else:
        _compare(rows, lambda f, args: f(args), lambda f, args: f(args), weak)


def check_types(rows: Sequence[Row], *, weak: bool = True) -> None:
    """Trace the rows on both sides, and fail with every difference of shape, dtype or weakness."""
    _compare(rows, ox.eval_shape, jax.eval_shape, weak)


def check_derivatives(f: Callable[[Any, Any], Any], x: Any) -> None:
    """Compare gradient and hessian of the scalar function `f` of a namespace like numpy's and x."""

    def derivatives(package: Any) -> Any:
        def one(x: Any) -> Any:
            return f(package.numpy, x)

        return package.jit(lambda x: (package.grad(one)(x), package.hessian(one)(x)))(x)

    for got, want in zip(derivatives(ox), derivatives(jax), strict=True):
        scale = np.abs(np.asarray(want)).max()
        np.testing.assert_allclose(got, want, rtol=1e-7, atol=1e-9 * scale)
