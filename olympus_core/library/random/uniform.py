"""Uniform samples: bits, floats and integers of equal probability.

Bits become the mantissa of a float in [1, 2), from which 1 is subtracted.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from olympus_core.base import dtypes
from olympus_core.base.avals import Shape, canonical_shape, get_aval, shape_of
from olympus_core.base.dtypes import DType
from olympus_core.base.errors import ArgumentError, DTypeError, ShapeError
from olympus_core.ir.tracer import Array
from olympus_core.ir.typing import ArrayLike, DTypeLike, ShapeLike
from olympus_core.library.composite import composite
from olympus_core.library.explicit import OutSharding, out_sharded
from olympus_core.library.promotion import broadcast_shapes, broadcast_to, convert
from olympus_core.library.random.generators import random_bits, subkeys
from olympus_core.library.random.keys import KeyLike, one_key
from olympus_core.primitives.elementwise.arithmetic import add_p, max_p, mul_p, rem_p, sub_p
from olympus_core.primitives.elementwise.conversion import (
    bitcast_convert_type_p,
    convert_element_type_p,
)
from olympus_core.primitives.elementwise.logic import (
    and_p,
    gt_p,
    le_p,
    lt_p,
    or_p,
    shift_right_logical_p,
)
from olympus_core.primitives.elementwise.selection import clamp_p, select_n_p

_KINDS = {"f": "a float", "fc": "a float or complex", "u": "an unsigned int", "iu": "an int"}


def float_dtype(name: str, dtype: DTypeLike | None, kinds: str = "f") -> DType:
    """Return the dtype of samples, by default the default float; raise ArgumentError for others."""
    result = dtypes.requested(name, dtype)
    if dtypes.kind(result) not in kinds:
        raise ArgumentError(dtype_text(name, result, kinds))
    return result


def dtype_text(name: str, dtype: DType, kinds: str) -> str:
    """Return the message for samples of a dtype of another kind than `kinds`."""
    got = dtypes.long_name(dtype)
    return f"dtype argument to `{name}` must be {_KINDS[kinds]} dtype, got {got}"


def result_shape(name: str, shape: ShapeLike | None, *parameters: Any) -> Shape:
    """Return the shape of samples: the broadcast shape of the parameters, or `shape`.

    Raises ShapeError if the parameters do not broadcast to it.
    """
    shapes = [shape_of(x) for x in parameters]
    return broadcast_shapes(*shapes) if shape is None else fit_shape(name, shape, *shapes)


def fit_shape(name: str, shape: ShapeLike, *shapes: Shape) -> Shape:
    """Return `shape` as a tuple; raise ShapeError unless each of `shapes` broadcasts to it."""
    result = canonical_shape(shape)
    if shapes and broadcast_shapes(result, *shapes) != result:
        raise ShapeError(
            f"{name} parameter shapes must be broadcast-compatible with shape argument, and the "
            "result of broadcasting the shapes must equal the shape argument, but got result "
            f"{broadcast_shapes(result, *shapes)} for shape argument {result}"
        )
    return result


def constant(value: Any, dtype: DType) -> Any:
    """Return a number as a scalar of a dtype, for an equation with operands of that dtype."""
    return np.asarray(value).astype(dtype)[()]


@out_sharded
def bits(
    key: KeyLike,
    shape: ShapeLike = (),
    dtype: DTypeLike | None = None,
    *,
    out_sharding: OutSharding = None,
) -> Array:
    """Return random bits as unsigned integers; the default dtype is uint32 (uint64 with x64).

    Raises ArgumentError (a ValueError) for another kind of dtype.

    >>> bits(key(0), (2, 3), "uint8").dtype
    dtype('uint8')
    """
    words = one_key("bits", key)
    dtype = float_dtype("bits", dtypes.default_dtype("u") if dtype is None else dtype, "u")
    width, shape = dtype.itemsize * 8, canonical_shape(shape)
    return random_bits(words, width, shape)


def unit_floats(key: Any, shape: Shape, dtype: DType) -> Array:
    """Return floats in [0, 1), by four equations."""
    info = dtypes.finfo(dtype)
    width, mantissa = int(info.bits), int(info.nmant)
    random_width = 8 if mantissa < 8 else width
    word = np.dtype(f"uint{width}")
    drawn = random_bits(key, random_width, shape)
    if random_width != width:
        drawn = convert_element_type_p.bind(drawn, new_dtype=word, weak_type=False)
    drawn = shift_right_logical_p.bind(drawn, constant(random_width - mantissa, word))
    one = constant(1, dtype)
    drawn = or_p.bind(drawn, np.asarray(one).view(word)[()])
    return sub_p.bind(bitcast_convert_type_p.bind(drawn, new_dtype=dtype), one)


def uniform_floats(
    key: Any, shape: Shape, dtype: DType, minval: ArrayLike = 0.0, maxval: ArrayLike = 1.0
) -> Array:
    """Return floats in [minval, maxval); bounds are scalars or broadcast to the shape."""
    floats = unit_floats(key, shape, dtype)
    if minval.__class__ is float and maxval.__class__ is float and (minval, maxval) == (0, 1):
        return floats
    low, high = (_bound(x, shape, dtype) for x in (minval, maxval))
    is_number = isinstance(low, np.generic) and isinstance(high, np.generic)
    span = high - low if is_number else sub_p.bind(high, low)
    moved = add_p.bind(mul_p.bind(floats, span), low)
    return max_p.bind(low, moved)  # rounding can take a float below the bound


def random_signs(key: Any, shape: Shape, dtype: DType) -> Array:
    """Return -1 or 1, with equal probability; True for both as bools."""
    if dtypes.kind(dtype) == "b":
        return broadcast_to(constant(True, dtype), shape)
    default = dtypes.default_dtype("f")
    is_one = lt_p.bind(unit_floats(key, shape, default), constant(0.5, default))
    twice = mul_p.bind(convert(is_one, dtype), constant(2, dtype))
    return sub_p.bind(twice, constant(1, dtype))


def _bound(x: Any, shape: Shape, dtype: DType) -> Any:
    x = convert(x, dtype)
    return x if not shape_of(x) else broadcast_to(x, shape)


@composite(static_argnames=("shape", "dtype"))
def _uniform(key: Any, minval: Any, maxval: Any, shape: Shape, dtype: DType) -> Array:
    return uniform_floats(key, shape, dtype, minval, maxval)


@composite(static_argnames=("shape", "dtype"))
def _uniform_unit(key: Any, shape: Shape, dtype: DType) -> Array:
    return unit_floats(key, shape, dtype)


@out_sharded
def uniform(
    key: KeyLike,
    shape: ShapeLike = (),
    dtype: DTypeLike | None = None,
    minval: ArrayLike = 0.0,
    maxval: ArrayLike = 1.0,
    *,
    out_sharding: OutSharding = None,
) -> Array:
    """Return floats uniform in [minval, maxval).

    Raises ArgumentError (a ValueError) for a dtype that is not a float.

    >>> uniform(key(0), (2, 3)).shape
    (2, 3)
    """
    words, shape = one_key("uniform", key), canonical_shape(shape)
    dtype = float_dtype("uniform", dtype)
    if minval.__class__ is float and maxval.__class__ is float and (minval, maxval) == (0, 1):
        return _uniform_unit(words, shape=shape, dtype=dtype)
    return _uniform(words, minval, maxval, shape=shape, dtype=dtype)


def _integer(x: Any) -> Any:
    """Return a bound as an integer array or scalar; floats are truncated."""
    aval = get_aval(x)
    if dtypes.kind(aval.dtype) in "iu":
        return x
    return convert(x, dtypes.default_dtype("i"))


def _limits(dtype: DType) -> tuple[int, int]:
    info = dtypes.iinfo(dtype)
    return int(info.min), int(info.max)


def _clip(x: Any, dtype: DType) -> Any:
    """Return a bound clamped to the range of `dtype`, as `dtype`."""
    have = get_aval(x).dtype
    (low, high), (have_low, have_high) = _limits(dtype), _limits(have)
    if low > have_low or high < have_high:
        smallest, largest = constant(max(low, have_low), have), constant(min(high, have_high), have)
        x = clamp_p.bind(smallest, convert(x, have), largest)
    return convert(x, dtype)


@composite(static_argnames=("shape", "dtype"))
def _randint(key: Any, minval: Any, maxval: Any, shape: Shape, dtype: DType) -> Array:
    width = dtype.itemsize * 8
    word = np.dtype(f"uint{width}")
    if minval.__class__ is int and maxval.__class__ is int:
        low, span, factor = _known_span(minval, maxval, dtype)
    else:
        low, span = _span(_integer(minval), _integer(maxval), shape, dtype)
        factor = rem_p.bind(constant(2 ** (width // 2), word), span)
        factor = rem_p.bind(mul_p.bind(factor, factor), span)
    high_bits, low_bits = (random_bits(k, width, shape) for k in subkeys(key))
    # the two words as one number of twice the width, modulo the span: a bias of 2**-width
    offset = mul_p.bind(rem_p.bind(high_bits, span), factor)
    offset = rem_p.bind(add_p.bind(offset, rem_p.bind(low_bits, span)), span)
    return add_p.bind(low, _as(offset, dtype))


def _as(x: Any, dtype: DType) -> Any:
    return convert_element_type_p.bind(x, new_dtype=dtype, weak_type=False)


def _known_span(minval: int, maxval: int, dtype: DType) -> tuple[Any, Any, Any]:
    """Return `_span` and the factor of the high word, for bounds that are known."""
    smallest, largest = _limits(dtype)
    low, high = min(max(minval, smallest), largest), min(max(maxval, smallest), largest)
    width = dtype.itemsize * 8
    span = (max(high - low, 0) + (maxval > largest) or 1) % (1 << width)
    half = (1 << width // 2) % (span or 1)
    factor = half * half % (1 << width) % (span or 1)
    word = np.dtype(f"uint{width}")
    return constant(low, dtype), constant(span, word), constant(factor, word)


def _span(minval: Any, maxval: Any, shape: Shape, dtype: DType) -> tuple[Any, Any]:
    """Return the least integer, and the number of integers, unsigned: 1 if none.

    One more if `maxval` is above the range of the dtype.  A span of all integers wraps around to 0,
    and the remainders by it are the words themselves.
    """
    have = get_aval(maxval).dtype
    is_beyond = gt_p.bind(
        convert(maxval, have), constant(min(_limits(dtype)[1], _limits(have)[1]), have)
    )
    low, high = (_bound(_clip(x, dtype), shape, dtype) for x in (minval, maxval))
    if shape_of(is_beyond):
        is_beyond = broadcast_to(is_beyond, shape)
    word = np.dtype(f"uint{dtype.itemsize * 8}")
    count = _as(sub_p.bind(high, low), word)
    count = _where(le_p.bind(high, low), constant(1, word), count)
    is_full_range = and_p.bind(is_beyond, gt_p.bind(high, low))
    return low, _where(is_full_range, add_p.bind(count, constant(1, word)), count)


def _where(mask: Any, yes: Any, no: Any) -> Any:
    shape = shape_of(mask) or shape_of(no)
    if shape_of(mask) != shape:
        mask = broadcast_to(mask, shape)
    return select_n_p.bind(mask, no, yes)


@out_sharded
def randint(
    key: KeyLike,
    shape: ShapeLike,
    minval: ArrayLike,
    maxval: ArrayLike,
    dtype: DTypeLike | None = None,
    *,
    out_sharding: OutSharding = None,
) -> Array:
    """Integers uniform in [minval, maxval), with bounds that are scalars or broadcast to the shape.

    Raises DTypeError for a dtype that is not an integer, ShapeError for bounds that do not fit.

    >>> int(randint(key(0), (), 3, 4))
    3
    """
    words = one_key("randint", key)
    dtype = dtypes.requested("randint", dtype, dtypes.default_dtype("i"))
    if dtypes.kind(dtype) not in "iu":
        raise DTypeError(f"randint only accepts integer dtypes, got {dtypes.long_name(dtype)}")
    shape = result_shape("randint", shape, minval, maxval)
    if dtype.itemsize >= 4:
        return _randint(words, minval, maxval, shape=shape, dtype=dtype)
    low, high = _limits(dtype)
    wide = np.dtype("int32")
    minval, maxval = (
        clamp_p.bind(constant(low, wide), convert(x, wide), constant(limit, wide))
        for x, limit in ((minval, high), (maxval, high + 1))
    )
    return convert(_randint(words, minval, maxval, shape=shape, dtype=wide), dtype)
