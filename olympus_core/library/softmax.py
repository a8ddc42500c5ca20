"""Softmax and sums of exponentials, for `olympus.nn`, `olympus.scipy` and samplers.

The greatest logit is subtracted before any exponential, so that nothing overflows.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any, Literal, overload

import numpy as np

from olympus_core.base import dtypes
from olympus_core.base.avals import Shape, get_aval
from olympus_core.base.context import state
from olympus_core.base.dimensions.expression import is_symbolic_dim
from olympus_core.control.custom_jvp import custom_jvp
from olympus_core.ir.tracer import Array
from olympus_core.ir.typing import ArrayLike
from olympus_core.library.axes import Axis, accepts_list_axis, axis_tuple, keep_dims
from olympus_core.library.composite import composite
from olympus_core.library.operands import choose, mask, operand, scalar
from olympus_core.library.promotion import broadcast_shapes, broadcast_to, convert, promote_inexact
from olympus_core.primitives.elementwise.arithmetic import abs_p, add_p, div_p, mul_p, sign_p, sub_p
from olympus_core.primitives.elementwise.base import check_kinds
from olympus_core.primitives.elementwise.conversion import real_p, stop_gradient_p
from olympus_core.primitives.elementwise.logic import eq_p
from olympus_core.primitives.elementwise.transcendental import exp_p, log_p
from olympus_core.primitives.reduction import reduce_max_p, reduce_sum_p
from olympus_core.primitives.shape import broadcast_in_dim_p

_HALF = frozenset({np.dtype("float16"), dtypes.bfloat16})
_F32 = np.dtype("float32")
_INF = float("inf")


def _floats(name: str, x: Any) -> Any:
    """Return the operand of function `name` as an array of floats."""
    x, aval = operand(name, x)
    return x if dtypes.kind(aval.dtype) in "fc" else promote_inexact(x)[0]


def _spread(x: Any, shape: Shape, axes: tuple[int, ...]) -> Any:
    """Return a reduction's result, of an array of `shape` over `axes`, broadcast to that shape."""
    remaining_axes = tuple([i for i in range(len(shape)) if i not in axes])
    return broadcast_in_dim_p.bind(x, shape=shape, broadcast_dimensions=remaining_axes)


def _greatest(x: Any, axes: tuple[int, ...]) -> Any:
    """Return the greatest element along axes, with zero derivative: it serves as a shift."""
    return stop_gradient_p.bind(reduce_max_p.bind(x, axes=axes))


def _sum(x: Any, axes: tuple[int, ...]) -> Any:
    """Return the sum along axes; half floats are summed in float32."""
    dtype = get_aval(x).dtype
    if dtype not in _HALF:
        return reduce_sum_p.bind(x, axes=axes)
    return convert(reduce_sum_p.bind(convert(x, _F32), axes=axes), dtype)


def _shifted(name: str, x: Any, axis: Axis, where: Any) -> tuple[Any, Shape, tuple[int, ...]]:
    """Return x minus its maximum along `axis` (-inf outside of `where`), its shape, and axes."""
    x, aval = operand(name, x)
    check_kinds("sub", "uifc", aval)
    x = _floats(name, x)
    shape = get_aval(x).shape
    axes = axis_tuple(name, len(shape), axis)
    x = convert(x, get_aval(x).dtype)  # strongly typed, as in JAX
    if where is not None:
        x = choose(name, mask(name, where, shape), x, -_INF)
    return sub_p.bind(x, _spread(_greatest(x, axes), shape, axes)), shape, axes


@accepts_list_axis
@composite(static_argnames=("axis",))
def softmax(x: ArrayLike, axis: Axis = -1, where: ArrayLike | None = None) -> Array:
    """exp(x) / sum(exp(x)) along `axis` (an int, a tuple of ints, or None for all).

    Elements where the bool array `where` is False are ignored, and are 0 in the result.

    Raises ShapeError for an axis that x does not have.

    >>> softmax(array([0.0, 0.0, 100.0]))
    Array([0., 0., 1.], dtype=float32)
    """
    if not state.softmax_custom_jvp:
        return _softmax(x, axis, where)
    result: Array = _of_own_derivative(axis, x, where)
    return result


def _softmax(x: Any, axis: Axis, where: Any) -> Array:
    shifted, shape, axes = _shifted("softmax", x, axis, where)
    powers = exp_p.bind(shifted)
    result = div_p.bind(powers, _spread(_sum(powers, axes), shape, axes))
    return result if where is None else choose("softmax", where, result, 0)


@functools.partial(custom_jvp, nondiff_argnums=(0,))
def _of_own_derivative(axis: Axis, x: Any, where: Any) -> Array:
    return _softmax(x, axis, where)


def _derivative(axis: Axis, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Array, Array]:
    """Return the softmax and its tangent, which depends on no other value."""
    result = _of_own_derivative(axis, *primals)
    shape = get_aval(result).shape
    axes = axis_tuple("softmax", len(shape), axis)
    weighted = mul_p.bind(result, convert(tangents[0], get_aval(result).dtype))
    mean = _spread(_sum(weighted, axes), shape, axes)
    return result, sub_p.bind(weighted, mul_p.bind(result, mean))


_of_own_derivative.defjvp(_derivative)


@accepts_list_axis
@composite(static_argnames=("axis",))
def log_softmax(x: ArrayLike, axis: Axis = -1, where: ArrayLike | None = None) -> Array:
    """log(softmax(x, axis, where)), exact for probabilities next to 0.

    >>> log_softmax(array([0.0, 0.0]))
    Array([-0.6931472, -0.6931472], dtype=float32)
    """
    shifted, shape, axes = _shifted("log_softmax", x, axis, where)
    total = log_p.bind(_sum(exp_p.bind(shifted), axes))
    result = sub_p.bind(shifted, _spread(total, shape, axes))
    return result if where is None else choose("log_softmax", where, result, -_INF)


@overload
def logsumexp(
    a: ArrayLike,
    axis: Axis = None,
    b: ArrayLike | None = None,
    keepdims: bool = False,
    return_sign: Literal[False] = False,
    where: ArrayLike | None = None,
) -> Array: ...


@overload
def logsumexp(
    a: ArrayLike,
    axis: Axis = None,
    b: ArrayLike | None = None,
    keepdims: bool = False,
    *,
    return_sign: Literal[True],
    where: ArrayLike | None = None,
) -> tuple[Array, Array]: ...


@overload
def logsumexp(
    a: ArrayLike,
    axis: Axis,
    b: ArrayLike | None,
    keepdims: bool,
    return_sign: Literal[True],
    where: ArrayLike | None = None,
) -> tuple[Array, Array]: ...


@overload
def logsumexp(
    a: ArrayLike,
    axis: Axis = None,
    b: ArrayLike | None = None,
    keepdims: bool = False,
    return_sign: bool = False,
    where: ArrayLike | None = None,
) -> Array | tuple[Array, Array]: ...


@accepts_list_axis
@composite(static_argnames=("axis", "keepdims", "return_sign"))
def logsumexp(
    a: ArrayLike,
    axis: Axis = None,
    b: ArrayLike | None = None,
    keepdims: bool = False,
    return_sign: bool = False,
    where: ArrayLike | None = None,
) -> Array | tuple[Array, Array]:
    """log(sum(b * exp(a))) along `axis`, without overflow; `b` has scale factors, by default 1.

    With `return_sign` the result is (log |sum|, the sum's sign); otherwise a negative sum gives
    NaN.

    Raises ShapeError for an axis that a does not have.

    >>> logsumexp(array([1000.0, 1000.0]))
    Array(1000.6932, dtype=float32)
    """
    a, b = (_floats("logsumexp", a), None) if b is None else promote_inexact(a, b)
    if b is not None:
        b = broadcast_to(b, broadcast_shapes(get_aval(a).shape, get_aval(b).shape))
        a = choose("logsumexp", eq_p.bind(b, scalar(0, get_aval(b).dtype)), -_INF, a)
    aval = get_aval(a)
    shape, is_complex = aval.shape, dtypes.kind(aval.dtype) == "c"
    axes = axis_tuple("logsumexp", len(shape), axis)
    if where is not None:
        a = choose("logsumexp", mask("logsumexp", where, shape), a, -_INF)
    maximum = _greatest(real_p.bind(a) if is_complex else a, axes)
    is_finite = eq_p.bind(sub_p.bind(maximum, maximum), scalar(0, get_aval(maximum).dtype))
    maximum = choose("logsumexp", is_finite, maximum, 0)
    shift = convert(_spread(maximum, shape, axes), aval.dtype)
    powers = exp_p.bind(sub_p.bind(a, shift))
    total = _sum(powers if b is None else mul_p.bind(powers, b), axes)
    out, sign = _log_and_sign(total, maximum, b is not None or return_sign, return_sign)
    if keepdims:
        out, sign = (None if x is None else keep_dims(x, shape, axes) for x in (out, sign))
    return (out, sign) if return_sign else out


def _log_and_sign(total: Any, maximum: Any, is_signed: bool, of_magnitude: bool) -> tuple[Any, Any]:
    is_complex = dtypes.kind(get_aval(total).dtype) == "c"
    sign = sign_p.bind(total) if is_signed else None
    if of_magnitude:
        total = abs_p.bind(total)
    logarithm = log_p.bind(total)  # of a negative number: NaN
    if is_complex and not of_magnitude:
        maximum = convert(maximum, get_aval(total).dtype)
    return add_p.bind(logarithm, maximum), sign


@accepts_list_axis
@composite(static_argnames=("axis", "keepdims"))
def logmeanexp(
    x: ArrayLike, axis: Axis = None, where: ArrayLike | None = None, keepdims: bool = False
) -> Array:
    """log(mean(exp(x))) along `axis`, without overflow.

    >>> logmeanexp(array([2.0, 2.0, 2.0]))
    Array(2., dtype=float32)
    """
    total = logsumexp(x, axis=axis, where=where, keepdims=keepdims)
    shape, dtype = get_aval(x).shape, get_aval(total).dtype
    axes = axis_tuple("logmeanexp", len(shape), axis)
    if where is None:
        size = math.prod([shape[i] for i in axes])
        if is_symbolic_dim(size):
            return sub_p.bind(total, log_p.bind(scalar(size, dtype)))
        with np.errstate(divide="ignore"):
            return sub_p.bind(total, scalar(np.log(size), dtype))
    count = _sum(broadcast_to(convert(mask("logmeanexp", where, shape), dtype), shape), axes)
    if keepdims:
        count = keep_dims(count, shape, axes)
    return sub_p.bind(total, log_p.bind(count))
