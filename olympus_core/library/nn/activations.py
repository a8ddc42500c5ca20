"""Activations: elementwise functions of a layer's values, of their shape and float dtype."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from olympus_core.base import dtypes
from olympus_core.base.avals import get_aval
from olympus_core.base.errors import ShapeError
from olympus_core.control.custom_jvp import custom_jvp
from olympus_core.ir.tracer import Array
from olympus_core.ir.typing import ArrayLike
from olympus_core.library.axes import one_axis
from olympus_core.library.composite import composite
from olympus_core.library.lax import elementwise as lax
from olympus_core.library.lax.slicing import split
from olympus_core.library.numpy.creation.array import asarray
from olympus_core.library.numpy.elementwise.arithmetic import (
    absolute,
    clip,
    maximum,
    minimum,
    square,
)
from olympus_core.library.numpy.elementwise.exponential import expm1, logaddexp, sqrt
from olympus_core.library.numpy.elementwise.trigonometric import tanh
from olympus_core.library.operands import choose, operand, scalar
from olympus_core.library.promotion import check_arrays, promote_inexact
from olympus_core.primitives.elementwise.arithmetic import relu_p

__all__ = [
    "celu",
    "elu",
    "gelu",
    "glu",
    "hard_sigmoid",
    "hard_silu",
    "hard_swish",
    "hard_tanh",
    "identity",
    "leaky_relu",
    "log1mexp",
    "log_sigmoid",
    "mish",
    "relu",
    "relu6",
    "selu",
    "sigmoid",
    "silu",
    "soft_sign",
    "softplus",
    "sparse_plus",
    "sparse_sigmoid",
    "squareplus",
    "swish",
    "tanh",
]

_ROOT_2_OVER_PI = np.sqrt(2 / np.pi)
_ROOT_HALF = np.sqrt(0.5)
# Klambauer et al., "Self-normalizing neural networks" (2017)
_SELU_ALPHA = 1.6732632423543772848170429916717
_SELU_SCALE = 1.0507009873554804934193349852946


def _array(name: str, x: ArrayLike) -> Array:
    """Return the operand as an array, which has operators and methods."""
    return asarray(operand(name, x)[0])


def identity(x: ArrayLike) -> Array:
    """x itself.

    >>> identity(array([1, 2]))
    Array([1, 2], dtype=int32)
    """
    return _array("identity", x)


def relu(x: ArrayLike) -> Array:
    """max(x, 0), with derivative 0 at 0.

    >>> relu(array([-1.0, 0.0, 2.0]))
    Array([0., 0., 2.], dtype=float32)
    """
    check_arrays("relu", x)
    if get_aval(x).dtype == dtypes.bool_:
        return maximum(x, 0)
    return relu_p.bind(x)


@custom_jvp
def _relu6(x: Any) -> Array:
    return minimum(maximum(x, 0), 6.0)


@_relu6.defjvp
def _relu6_rule(primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]:
    (x,), (t,) = primals, tangents
    x = asarray(x)
    return _relu6(x), choose("relu6", (x > 0) & (x < 6), t, 0)


@composite()
def relu6(x: ArrayLike) -> Array:
    """min(max(x, 0), 6), with derivative 0 at 0 and 6.

    >>> relu6(array([-1.0, 3.0, 8.0]))
    Array([0., 3., 6.], dtype=float32)
    """
    return _relu6(x)


def sigmoid(x: ArrayLike) -> Array:
    """1 / (1 + exp(-x)); raises DTypeError for integers.

    >>> sigmoid(array([-100.0, 0.0, 100.0]))
    Array([0. , 0.5, 1. ], dtype=float32)
    """
    return lax.logistic(x)


@custom_jvp
def _softplus(x: Any) -> Array:
    return maximum(x, 0) + lax.log1p(lax.exp(-lax.abs(x)))


@_softplus.defjvp
def _softplus_rule(primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]:
    (x,), (t,) = primals, tangents
    return _softplus(x), t * lax.logistic(x)


@composite()
def softplus(x: ArrayLike) -> Array:
    """log(1 + exp(x)), without overflow.

    >>> softplus(array([0.0, 100.0]))
    Array([  0.6931472, 100.       ], dtype=float32)
    """
    # the sum of a bool and an int is weakly typed
    floats, _ = promote_inexact(_array("softplus", x), 0)
    is_complex = dtypes.kind(floats.dtype) == "c"
    return logaddexp(floats, 0.0) if is_complex else _softplus(floats)


@composite()
def log_sigmoid(x: ArrayLike) -> Array:
    """log(sigmoid(x)), without overflow.

    >>> log_sigmoid(array([0.0, 100.0]))
    Array([-0.6931472, -0.       ], dtype=float32)
    """
    return -softplus(-_array("log_sigmoid", x))


@composite()
def sparse_plus(x: ArrayLike) -> Array:
    """0 below -1, x above 1, and (x + 1)**2 / 4 between.

    >>> sparse_plus(array([-2.0, 0.0, 2.0]))
    Array([0.  , 0.25, 2.  ], dtype=float32)
    """
    x = _array("sparse_plus", x)
    middle = lax.square(x + 1.0) / 4
    return choose("sparse_plus", x <= -1.0, 0.0, choose("sparse_plus", x >= 1.0, x, middle))


@composite()
def sparse_sigmoid(x: ArrayLike) -> Array:
    """clip((x + 1) / 2, 0, 1).

    >>> sparse_sigmoid(array([-2.0, 0.0, 2.0]))
    Array([0. , 0.5, 1. ], dtype=float32)
    """
    return 0.5 * clip(_array("sparse_sigmoid", x) + 1.0, 0.0, 2.0)


@composite()
def soft_sign(x: ArrayLike) -> Array:
    """x / (|x| + 1).

    >>> soft_sign(array([-1.0, 0.0, 3.0]))
    Array([-0.5 ,  0.  ,  0.75], dtype=float32)
    """
    x = _array("soft_sign", x)
    return x / (absolute(x) + 1)


@composite()
def silu(x: ArrayLike) -> Array:
    """x * sigmoid(x): Elfwing, Uchibe and Doya (2018); also called swish.

    >>> silu(array([-1.0, 0.0, 1.0]))
    Array([-0.26894143,  0.        ,  0.7310586 ], dtype=float32)
    """
    return _array("silu", x) * lax.logistic(x)


swish = silu


@composite()
def mish(x: ArrayLike) -> Array:
    """x * tanh(softplus(x)): Misra (2019).

    >>> mish(array([-1.0, 0.0, 1.0]))
    Array([-0.30340144,  0.        ,  0.8650985 ], dtype=float32)
    """
    return _array("mish", x) * tanh(softplus(x))


@composite()
def elu(x: ArrayLike, alpha: ArrayLike = 1.0) -> Array:
    """x where positive, elsewhere alpha * (exp(x) - 1): Clevert et al. (2015).

    >>> elu(array([-1.0, 0.0, 2.0]))
    Array([-0.63212055,  0.        ,  2.        ], dtype=float32)
    """
    x = _array("elu", x)
    is_positive = x > 0
    # the unused branch gets 0, so that its derivative does not overflow
    negative = alpha * expm1(choose("elu", is_positive, 0.0, x))
    return choose("elu", is_positive, x, negative)


@composite()
def celu(x: ArrayLike, alpha: ArrayLike = 1.0) -> Array:
    """max(x, 0) + min(0, alpha * (exp(x / alpha) - 1)): Barron (2017).

    >>> celu(array([-1.0, 0.0, 2.0]), alpha=0.5)
    Array([-0.43233237,  0.        ,  2.        ], dtype=float32)
    """
    x = _array("celu", x)
    return maximum(x, 0.0) + alpha * expm1(minimum(x, 0.0) / alpha)


@composite()
def selu(x: ArrayLike) -> Array:
    """elu scaled such that layers keep mean 0 and variance 1: Klambauer et al. (2017).

    >>> selu(array([-1.0, 0.0, 1.0]))
    Array([-1.1113307,  0.       ,  1.050701 ], dtype=float32)
    """
    return _SELU_SCALE * elu(x, _SELU_ALPHA)


@composite()
def leaky_relu(x: ArrayLike, negative_slope: ArrayLike = 0.01) -> Array:
    """x where it is not negative, elsewhere negative_slope * x.

    >>> leaky_relu(array([-1.0, 0.0, 2.0]))
    Array([-0.01,  0.  ,  2.  ], dtype=float32)
    """
    x = _array("leaky_relu", x)
    return choose("leaky_relu", x >= 0, x, negative_slope * x)


@composite()
def hard_tanh(x: ArrayLike) -> Array:
    """clip(x, -1, 1).

    >>> hard_tanh(array([-2.0, 0.5, 2.0]))
    Array([-1. ,  0.5,  1. ], dtype=float32)
    """
    x = _array("hard_tanh", x)
    return choose("hard_tanh", x > 1, 1, choose("hard_tanh", x < -1, -1, x))


@composite()
def hard_sigmoid(x: ArrayLike) -> Array:
    """relu6(x + 3) / 6.

    >>> hard_sigmoid(array([-3.0, 0.0, 3.0]))
    Array([0. , 0.5, 1. ], dtype=float32)
    """
    return relu6(_array("hard_sigmoid", x) + 3.0) / 6.0


@composite()
def hard_silu(x: ArrayLike) -> Array:
    """x * hard_sigmoid(x): Howard et al. (2019); also called hard_swish.

    >>> hard_silu(array([-3.0, 0.0, 3.0]))
    Array([-0.,  0.,  3.], dtype=float32)
    """
    return _array("hard_silu", x) * hard_sigmoid(x)


hard_swish = hard_silu


@composite(static_argnames=("approximate",))
def gelu(x: ArrayLike, approximate: bool = True) -> Array:
    """x times the normal distribution's cdf of x: Hendrycks and Gimpel (2016).

    `approximate` computes the cdf by tanh, as in that paper, instead of erfc.

    >>> gelu(array([-1.0, 0.0, 1.0]))
    Array([-0.15880796,  0.        ,  0.841192  ], dtype=float32)
    """
    floats = promote_inexact(_array("gelu", x))[0]
    dtype = floats.dtype
    if approximate:
        cubed = floats + 0.044715 * lax.integer_pow(floats, 3)
        return floats * (0.5 * (1.0 + lax.tanh(scalar(_ROOT_2_OVER_PI, dtype) * cubed)))
    return (0.5 * floats) * lax.erfc(floats * scalar(-_ROOT_HALF, dtype))


@composite(static_argnames=("axis",))
def glu(x: ArrayLike, axis: int = -1) -> Array:
    """The first half of x along `axis` times the sigmoid of the second: Dauphin et al. (2017).

    Raises ShapeError for an axis of odd size.

    >>> glu(array([1.0, 2.0, 0.0, 0.0]))
    Array([0.5, 1. ], dtype=float32)
    """
    x = _array("glu", x)
    axis = one_axis("glu", x.ndim, axis)
    size = x.shape[axis]
    if size % 2:
        raise ShapeError(f"glu needs an axis of even size, and axis {axis} has {size}")
    value, gate = split(x, (size // 2, size // 2), axis)
    return value * lax.logistic(gate)


@composite()
def squareplus(x: ArrayLike, b: ArrayLike = 4) -> Array:
    """(x + sqrt(x**2 + b)) / 2: Barron (2021).

    >>> squareplus(array([-1.5, 0.0, 1.5]))
    Array([0.5, 1. , 2. ], dtype=float32)
    """
    x = _array("squareplus", x)
    return (x + sqrt(square(x) + b)) / 2


@composite()
def log1mexp(x: ArrayLike) -> Array:
    """log(1 - exp(-x)) for positive x, exact near 0 and for large x.

    By Maechler, "Accurately computing log(1 - exp(-|a|))" (2012).

    >>> log1mexp(array([0.5, 1.0]))
    Array([-0.93275213, -0.45867515], dtype=float32)
    """
    return _log1mexp(*promote_inexact(_array("log1mexp", x)))


@custom_jvp
def _log1mexp(x: Any) -> Array:
    small, large = lax.log(-lax.expm1(-x)), lax.log1p(-lax.exp(-x))
    return choose("log1mexp", x < scalar(np.log(2.0), get_aval(x).dtype), small, large)


@_log1mexp.defjvp
def _log1mexp_rule(primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]:
    (x,), (t,) = primals, tangents
    return _log1mexp(x), t / expm1(x)
