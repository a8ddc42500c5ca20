"""Checks of derivatives against finite differences, in one direction drawn at random.

They raise AssertionError if the two differ.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from olympus_core.arrays.device_array import array_to_numpy
from olympus_core.base import dtypes, tree
from olympus_core.base.avals import get_aval
from olympus_core.base.errors import ArgumentError
from olympus_core.library.numpy.elementwise.complex import conj
from olympus_core.transforms.autodiff import jvp, linearize, vjp
from olympus_core.transforms.data import is_float0

#: a tolerance for all dtypes, or one by dtype; the default for the dtypes that it does not have
Tolerance = float | Mapping[Any, float] | None

#: the tolerance and the step, by the width of a real number in bytes
_TOLERANCES = {1: 1.0, 2: 1e-1, 4: 2e-3, 8: 1e-5}
_STEPS = {1: 1e-1, 2: 1e-1, 4: 1e-2, 8: 1e-4}


def check_grads(
    f: Callable[..., Any],
    args: Sequence[Any],
    order: int,
    modes: Sequence[str] = ("fwd", "rev"),
    atol: Tolerance = None,
    rtol: Tolerance = None,
    eps: float | None = None,
) -> None:
    """Compare the derivatives of `f` at `args` with central differences of step `eps`.

    Each derivative up to `order` is compared, in the modes given: forward ("fwd"), by `linearize`
    ("lin") and in reverse ("rev"), along one direction that is drawn from a fixed seed.  `atol` and
    `rtol` are numbers, or dictionaries from dtypes to numbers; they are multiplied by the number of
    elements of an array.  Their defaults and that of `eps` depend on the narrowest dtype.
    Arguments and results are trees of arrays; integers among them are unchanged.

    Raises AssertionError where a derivative differs, ArgumentError for another mode.

    >>> check_grads(lambda x: x * numpy.sin(x), (2.0,), order=2)
    """
    modes = (modes,) if isinstance(modes, str) else tuple(modes)
    if not modes or not set(modes) <= {"fwd", "lin", "rev"}:
        raise ArgumentError(f"the modes of check_grads are 'fwd', 'lin' and 'rev', and not {modes}")
    args = tuple(args)
    forward: dict[str, Callable[..., Any]] = {"fwd": jvp, "lin": _linearized}
    for mode in (m for m in forward if m in modes):
        pushed = functools.partial(forward[mode], f)
        check_jvp(f, pushed, args, atol, rtol, eps, f"{mode} of {_name(f)}")
        if order > 1:
            directions = _directions(np.random.default_rng(order), args)
            check_grads(pushed, (args, directions), order - 1, modes, atol, rtol, eps)
    if "rev" in modes:
        check_vjp(f, functools.partial(vjp, f), args, atol, rtol, eps, f"vjp of {_name(f)}")
        if order > 1:

            def pulled(*values: Any) -> Any:
                out, pull = vjp(f, *values)
                return [x for x in tree.leaves(pull(out)) if not is_float0(x)]

            check_grads(pulled, args, order - 1, modes, atol, rtol, eps)


def check_jvp(
    f: Callable[..., Any],
    f_jvp: Callable[..., Any],
    args: Sequence[Any],
    atol: Tolerance = None,
    rtol: Tolerance = None,
    eps: float | None = None,
    err_msg: str = "",
) -> None:
    """Compare `f_jvp(args, tangents)`, a pair of value and tangent, with `f` and its differences.

    Raises AssertionError, with `err_msg`, where they differ.

    >>> check_jvp(sin, lambda x, t: jvp(sin, x, t), (1.0,))
    """
    tangents = _directions(np.random.default_rng(0), args)
    value, tangent = f_jvp(tuple(args), tangents)
    _compare(value, f(*args), atol, rtol, f"{err_msg}: value")
    _compare(tangent, _difference(f, args, tangents, eps), atol, rtol, f"{err_msg}: JVP tangent")


def check_vjp(
    f: Callable[..., Any],
    f_vjp: Callable[..., Any],
    args: Sequence[Any],
    atol: Tolerance = None,
    rtol: Tolerance = None,
    eps: float | None = None,
    err_msg: str = "",
) -> None:
    """Compare `f_vjp(*args)`, a pair of value and pullback, with `f` and its differences.

    The pullback is compared by <t, f'* c> = <f' t, c> for a tangent and a cotangent drawn at
    random.  Raises AssertionError, with `err_msg`, where they differ.

    >>> check_vjp(sin, lambda x: vjp(sin, x), (1.0,))
    """
    rng = np.random.default_rng(0)
    value, pull = f_vjp(*args)
    _compare(value, f(*args), atol, rtol, f"{err_msg}: value")
    tangents = _directions(rng, args)
    cotangents = _directions(rng, value)
    pulled = tree.map(_conjugate, pull(tree.map(_conjugate, cotangents)))
    pushed = _difference(f, args, tangents, eps)
    pulled_product, pushed_product = _inner(tangents, pulled), _inner(pushed, cotangents)
    values = [*tree.leaves(tuple(args)), *tree.leaves(value)]
    np.testing.assert_allclose(
        pulled_product,
        pushed_product,
        atol=_tolerance(atol, values),
        rtol=_tolerance(rtol, values),
        err_msg=f"{err_msg}: VJP cotangent projection",
    )


def _linearized(f: Callable[..., Any], primals: Any, tangents: Any) -> Any:
    value, linear = linearize(f, *primals)
    return value, linear(*tangents)


def _name(f: Callable[..., Any]) -> str:
    return str(getattr(f, "__name__", type(f).__name__))


def _moves(x: Any) -> bool:
    return not is_float0(x) and dtypes.kind(get_aval(x).dtype) in "fc"


def _directions(rng: np.random.Generator, values: Any) -> Any:
    """Return a tree like `values` of samples that are not small, with float0 for integers."""

    def sample(shape: Any) -> Any:
        return rng.uniform(0.5, 1.5, shape) * rng.choice([-1.0, 1.0], shape)

    def draw(x: Any) -> Any:
        if not _moves(x):
            return np.zeros(np.shape(x), dtypes.float0)
        aval = get_aval(x)
        drawn = sample(aval.shape)
        if dtypes.kind(aval.dtype) == "c":
            drawn = drawn + 1j * sample(aval.shape)
        return np.asarray(drawn).astype(aval.dtype)

    return tree.map(draw, values)


def _width(values: Sequence[Any]) -> int:
    widths = [dtypes.to_real(get_aval(x).dtype).itemsize for x in values if _moves(x)]
    return min(widths, default=8)


def _tolerance(tolerance: Tolerance, values: Sequence[Any]) -> float:
    """Return the tolerance for the narrowest dtype of `values`."""
    if isinstance(tolerance, Mapping):
        by_dtype = {np.dtype(key): float(value) for key, value in tolerance.items()}
        moving = [get_aval(x).dtype for x in values if _moves(x)]
        narrowest = sorted(moving, key=lambda dtype: dtypes.to_real(dtype).itemsize)
        default = _TOLERANCES[_width(values)]
        return by_dtype.get(narrowest[0], default) if narrowest else default
    return _TOLERANCES[_width(values)] if tolerance is None else tolerance


def _difference(f: Callable[..., Any], args: Any, tangents: Any, eps: float | None) -> Any:
    args = tuple(args)
    step = _STEPS[_width(tree.leaves(args))] if eps is None else eps

    def moved(by: float) -> Any:
        return f(*tree.map(lambda x, t: _plus(x, t, by), args, tangents))

    return tree.map(lambda up, down: _slope(up, down, step), moved(step), moved(-step))


def _plus(x: Any, tangent: Any, by: float) -> Any:
    if not _moves(x):
        return x
    dtype = get_aval(x).dtype
    return (np.asarray(array_to_numpy(x), dtype) + np.asarray(tangent * by, dtype)).astype(dtype)


def _slope(up: Any, down: Any, step: float) -> Any:
    if not _moves(up):
        return np.zeros(np.shape(up), dtypes.float0)
    wide = np.complex128 if dtypes.kind(get_aval(up).dtype) == "c" else np.float64
    return (array_to_numpy(up).astype(wide) - array_to_numpy(down).astype(wide)) / (2 * step)


def _conjugate(x: Any) -> Any:
    return x if is_float0(x) or dtypes.kind(get_aval(x).dtype) != "c" else conj(x)


def _inner(xs: Any, ys: Any) -> float:
    total = 0.0
    for x, y in zip(tree.leaves(xs), tree.leaves(ys), strict=True):
        if not is_float0(x) and not is_float0(y):
            total += float(np.vdot(array_to_numpy(x), array_to_numpy(y)).real)
    return total


def _compare(actual: Any, expected: Any, atol: Tolerance, rtol: Tolerance, what: str) -> None:
    for x, y in zip(tree.leaves(actual), tree.leaves(expected), strict=True):
        if is_float0(x) or is_float0(y):
            continue
        size = max(np.size(x), 1)
        wide = np.complex128 if dtypes.kind(get_aval(x).dtype) == "c" else np.float64
        np.testing.assert_allclose(
            array_to_numpy(x).astype(wide),
            np.asarray(array_to_numpy(y)).astype(wide),
            atol=_tolerance(atol, [x]) * size,
            rtol=_tolerance(rtol, [x]) * size,
            err_msg=what,
        )
