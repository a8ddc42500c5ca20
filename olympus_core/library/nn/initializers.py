"""Initializers: functions of a key, a shape and a dtype that draw a layer's initial weights.

`variance_scaling` preserves the variance of activations (by fan in) or gradients (by fan out)
from layer to layer: LeCun et al. (1998), Glorot and Bengio (2010), He et al. (2015).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from olympus_core.base import dtypes
from olympus_core.base.avals import Shape, canonical_shape
from olympus_core.base.dtypes import DType
from olympus_core.base.errors import ArgumentError, ShapeError
from olympus_core.ir.tracer import Array
from olympus_core.ir.typing import ArrayLike, DTypeLike, ShapeLike
from olympus_core.library.explicit import OutSharding, out_sharded
from olympus_core.library.lax import elementwise as lax
from olympus_core.library.lax.conversion import convert_element_type
from olympus_core.library.numpy.creation import array, fills
from olympus_core.library.operands import scalar
from olympus_core.library.random import normal as _normal
from olympus_core.library.random import uniform as _uniform
from olympus_core.library.random.generators import subkeys
from olympus_core.library.random.keys import KeyLike, one_key

Axes = int | Sequence[int]
# The standard deviations of normal variables truncated at 2: real, and of complex magnitude.
_REAL_CUT, _COMPLEX_CUT = 0.87962566103423978, 0.95311164380491208


class Initializer(Protocol):
    """A function that returns the initial weights of a layer."""

    def __call__(
        self,
        key: KeyLike,
        shape: ShapeLike,
        dtype: DTypeLike | None = None,
        out_sharding: OutSharding = None,
    ) -> Array:
        """Return weights of a shape, dtype and sharding, drawn by a random key."""


def weight_dtype(dtype: DTypeLike | None) -> DType:
    return dtypes.requested("initializer", dtype)


def initializer(
    draw: Callable[[KeyLike, ShapeLike, DType], Array], default: DTypeLike | None
) -> Initializer:
    """Return an initializer of the weights that a function draws, with a default dtype."""

    @out_sharded
    def init(
        key: KeyLike,
        shape: ShapeLike,
        dtype: DTypeLike | None = default,
        out_sharding: OutSharding = None,
    ) -> Array:
        return draw(key, shape, weight_dtype(dtype))

    return init


@out_sharded
def zeros(
    key: KeyLike,
    shape: ShapeLike,
    dtype: DTypeLike | None = None,
    out_sharding: OutSharding = None,
) -> Array:
    """Return zeros; the key is not used.

    >>> zeros(key(0), (2,))
    Array([0., 0.], dtype=float32)
    """
    return fills.zeros(shape, weight_dtype(dtype))


@out_sharded
def ones(
    key: KeyLike,
    shape: ShapeLike,
    dtype: DTypeLike | None = None,
    out_sharding: OutSharding = None,
) -> Array:
    """Return ones; the key is not used.

    >>> ones(key(0), (2,))
    Array([1., 1.], dtype=float32)
    """
    return fills.ones(shape, weight_dtype(dtype))


def constant(value: ArrayLike, dtype: DTypeLike | None = None) -> Initializer:
    """Return an initializer of weights that all are `value`.

    >>> constant(7)(key(0), (2,))
    Array([7., 7.], dtype=float32)
    """

    def init(key: KeyLike, shape: ShapeLike, dtype: DType) -> Array:
        return fills.full(shape, value, dtype)

    return initializer(init, dtype)


def uniform(scale: ArrayLike = 1e-2, dtype: DTypeLike | None = None) -> Initializer:
    """Return an initializer of weights uniform in [0, scale).

    >>> uniform(0.5)(key(0), (2, 3)).shape
    (2, 3)
    """

    def init(key: KeyLike, shape: ShapeLike, dtype: DType) -> Array:
        return _uniform.uniform(key, shape, dtype) * array.asarray(scale, dtype)

    return initializer(init, dtype)


def normal(stddev: ArrayLike = 1e-2, dtype: DTypeLike | None = None) -> Initializer:
    """Return an initializer of normal weights of mean 0 and standard deviation `stddev`.

    >>> normal(0.5)(key(0), (2, 3)).shape
    (2, 3)
    """

    def init(key: KeyLike, shape: ShapeLike, dtype: DType) -> Array:
        return _normal.normal(key, shape, dtype) * array.asarray(stddev, dtype)

    return initializer(init, dtype)


def truncated_normal(
    stddev: ArrayLike = 1e-2,
    dtype: DTypeLike | None = None,
    lower: ArrayLike = -2.0,
    upper: ArrayLike = 2.0,
) -> Initializer:
    """Return an initializer of normal weights between `lower` and `upper`, times `stddev`.

    >>> truncated_normal(0.5)(key(0), (2, 3)).shape
    (2, 3)
    """

    def init(key: KeyLike, shape: ShapeLike, dtype: DType) -> Array:
        drawn = _normal.truncated_normal(key, lower, upper, shape, dtype)
        return drawn * array.asarray(stddev, dtype)

    return initializer(init, dtype)


def _size(shape: Shape, axes: Axes) -> int:
    return shape[axes] if isinstance(axes, int) else math.prod([shape[i] for i in axes])


def _fans(shape: Shape, in_axis: Axes, out_axis: Axes, batch_axis: Axes) -> tuple[float, float]:
    """Return the number of inputs of an output, and the number of outputs of an input."""
    if in_axis == -2 and len(shape) <= 1:
        raise ShapeError(
            f"the fans of weights of shape {shape} need two axes",
            hint="give in_axis and out_axis",
        )
    sizes = [_size(shape, axes) for axes in (in_axis, out_axis, batch_axis)]
    window = math.prod(shape) / sizes[0] / sizes[1] / sizes[2]
    return sizes[0] * window, sizes[1] * window


_MODES: dict[str, Callable[[float, float], float]] = {
    "fan_in": lambda fan_in, _: fan_in,
    "fan_out": lambda _, fan_out: fan_out,
    "fan_avg": lambda fan_in, fan_out: (fan_in + fan_out) / 2,
    "fan_geo_avg": lambda fan_in, fan_out: math.sqrt(fan_in * fan_out),
}


def _drawn_truncated(key: Any, shape: Shape, dtype: DType, variance: Any) -> Any:
    root = np.sqrt(variance)
    if dtypes.kind(dtype) == "c":
        upper_probability = scalar(1 - math.exp(-4), dtype)
        drawn = _turned(lambda u: lax.sqrt(-lax.log(1 - upper_probability * u)), key, shape, dtype)
        return drawn * (root / scalar(_COMPLEX_CUT, dtype))
    drawn = _normal.truncated_normal(key, -2.0, 2.0, shape, dtype)
    return drawn * (root / scalar(_REAL_CUT, dtype))


def _drawn_normal(key: Any, shape: Shape, dtype: DType, variance: Any) -> Any:
    return _normal.normal(key, shape, dtype) * np.sqrt(variance)


def _drawn_uniform(key: Any, shape: Shape, dtype: DType, variance: Any) -> Any:
    if dtypes.kind(dtype) == "c":
        return _turned(lambda u: lax.sqrt(2 * u), key, shape, dtype) * np.sqrt(variance)
    return _uniform.uniform(key, shape, dtype, -1.0) * np.sqrt(scalar(3, dtype) * variance)


def _turned(radius: Callable[[Array], Array], key: Any, shape: Shape, dtype: DType) -> Array:
    """Return complex numbers with the radius of a uniform variable, and a uniform angle."""
    keys = subkeys(one_key("an initializer", key))
    u, turn = (_uniform.uniform(k, shape, dtypes.to_real(dtype)) for k in keys)
    angle = scalar(2j * np.pi, dtype) * convert_element_type(turn, dtype)
    return radius(convert_element_type(u, dtype)) * lax.exp(angle)


_DISTRIBUTIONS: dict[str, Callable[..., Array]] = {
    "truncated_normal": _drawn_truncated,
    "normal": _drawn_normal,
    "uniform": _drawn_uniform,
}


def variance_scaling(
    scale: ArrayLike,
    mode: str,
    distribution: str,
    in_axis: Axes = -2,
    out_axis: Axes = -1,
    batch_axis: Axes = (),
    dtype: DTypeLike | None = None,
) -> Initializer:
    """Return an initializer of weights of variance scale / fan.

    `mode` selects the fan: "fan_in", "fan_out", their mean "fan_avg" or their geometric mean
    "fan_geo_avg".  The distribution is "truncated_normal" (at 2 standard deviations), "normal" or
    "uniform".  Axes that are neither in, out nor batch are window axes.

    Raises ArgumentError (a ValueError) for another mode or distribution; the initializer raises
    ShapeError for a shape whose fans are unknown.

    >>> variance_scaling(1.0, "fan_in", "normal")(key(0), (2, 3)).shape
    (2, 3)
    """
    for what, value, choices in (
        ("mode", mode, _MODES),
        ("distribution", distribution, _DISTRIBUTIONS),
    ):
        if value not in choices:
            names = ", ".join(map(repr, choices))
            raise ArgumentError(f"variance_scaling has the {what}s {names}, and not {value!r}")

    def init(key: KeyLike, shape: ShapeLike, dtype: DType) -> Array:
        shape = canonical_shape(shape)
        fan = _MODES[mode](*_fans(shape, in_axis, out_axis, batch_axis))
        variance = scalar(scale / fan, dtype)
        return _DISTRIBUTIONS[distribution](key, shape, dtype, variance)

    return initializer(init, dtype)


if TYPE_CHECKING:

    class _Scaled(Protocol):
        """The function `variance_scaling` with fixed scale, mode and distribution."""

        def __call__(
            self,
            in_axis: Axes = -2,
            out_axis: Axes = -1,
            batch_axis: Axes = (),
            dtype: DTypeLike | None = None,
        ) -> Initializer: ...


def _named(name: str, scale: float, mode: str, distribution: str) -> _Scaled:
    def make(
        in_axis: Axes = -2,
        out_axis: Axes = -1,
        batch_axis: Axes = (),
        dtype: DTypeLike | None = None,
    ) -> Initializer:
        return variance_scaling(scale, mode, distribution, in_axis, out_axis, batch_axis, dtype)

    make.__name__ = make.__qualname__ = name
    make.__doc__ = f"""variance_scaling({scale}, "{mode}", "{distribution}").

    >>> {name}()(key(0), (2, 3)).shape
    (2, 3)
    """
    return make


glorot_uniform = _named("glorot_uniform", 1.0, "fan_avg", "uniform")
glorot_normal = _named("glorot_normal", 1.0, "fan_avg", "truncated_normal")
lecun_uniform = _named("lecun_uniform", 1.0, "fan_in", "uniform")
lecun_normal = _named("lecun_normal", 1.0, "fan_in", "truncated_normal")
he_uniform = _named("he_uniform", 2.0, "fan_in", "uniform")
he_normal = _named("he_normal", 2.0, "fan_in", "truncated_normal")
xavier_uniform, xavier_normal = glorot_uniform, glorot_normal
kaiming_uniform, kaiming_normal = he_uniform, he_normal
