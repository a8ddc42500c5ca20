"""The quantization of arrays in blocks, each of which has one scale."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from olympus_core.base import dtypes
from olympus_core.base.errors import ArgumentError, ShapeError
from olympus_core.ir.tracer import Array
from olympus_core.ir.typing import ArrayLike
from olympus_core.library.lax.annotations import optimization_barrier
from olympus_core.library.lax.conversion import bitcast_convert_type
from olympus_core.library.lax.shape import reshape
from olympus_core.library.numpy.creation.array import asarray
from olympus_core.library.numpy.creation.fills import ones
from olympus_core.library.numpy.elementwise.arithmetic import absolute, clip
from olympus_core.library.numpy.reductions.sums import amax
from olympus_core.library.numpy.sorting.searching import where
from olympus_core.library.promotion import convert

Mode = Literal["nvfp4", "mxfp8"]

_FLOAT32 = np.dtype("float32")
_EXPONENT_BIAS, _MANTISSA_BITS = 127, 23


@dataclass(slots=True)
class BlockScaleConfig:
    """The format of an operand of `scaled_dot_general`.

    `block_size` adjacent elements of dtype `data_type` have one scale, of dtype `scale_type`.
    `global_scale` is a float32 factor of the whole operand, in mode "nvfp4" alone.
    """

    mode: str
    block_size: int
    data_type: Any
    scale_type: Any
    global_scale: ArrayLike | None
    infer_only: bool


def get_scaled_dot_general_config(
    mode: Mode, global_scale: ArrayLike | None = None
) -> BlockScaleConfig:
    """Return the format of an operand of `scaled_dot_general`.

    "mxfp8": float8_e4m3fn in blocks of 32 with float8_e8m0fnu scales, which are powers of 2.
    "nvfp4": float4_e2m1fn in blocks of 16 with float8_e4m3fn scales, and `global_scale`, a float32
    factor of shape (1,), ones by default.

    Raises ArgumentError (a ValueError) for another mode.

    >>> get_scaled_dot_general_config("mxfp8").block_size
    32
    """
    if mode == "nvfp4":
        scale = ones((1,), _FLOAT32) if global_scale is None else global_scale
        kinds = (dtypes.dtype("float4_e2m1fn"), dtypes.dtype("float8_e4m3fn"))
        return BlockScaleConfig(mode, 16, *kinds, scale, infer_only=False)
    if mode == "mxfp8":
        kinds = (dtypes.dtype("float8_e4m3fn"), dtypes.dtype("float8_e8m0fnu"))
        return BlockScaleConfig(mode, 32, *kinds, None, infer_only=False)
    raise ArgumentError(f"Unsupported mode: {mode!r}; the modes are 'nvfp4' and 'mxfp8'")


def quantize(values: Array, config: BlockScaleConfig) -> tuple[Array, Array]:
    """Return quantized values, and the scales of blocks of the last axis.

    The largest magnitude of a block becomes the largest value of `config.data_type`, rounded down
    to a power of 2 in mode "mxfp8".
    """
    size, block = values.shape[-1], config.block_size
    if size < block or size % block:
        raise ShapeError(f"{config.mode} needs blocks of {block} elements, and got {size} elements")
    blocks = reshape(values, (*values.shape[:-1], size // block, block))
    limit = float(dtypes.finfo(config.data_type).max)
    if config.mode == "mxfp8":
        ratio = amax(absolute(blocks), axis=-1, keepdims=True) / limit
        scales, factors = _powers_of_two(ratio)
    else:
        blocks = blocks / asarray(config.global_scale)
        ratio = amax(absolute(blocks), axis=-1, keepdims=True) / limit
        largest = float(dtypes.finfo(config.scale_type).max)
        rounded = convert(clip(ratio, 0, largest), config.scale_type)
        scales = optimization_barrier(rounded)
        factors = convert(scales, _FLOAT32)
    scaled = clip(blocks / where(factors == 0, 1, factors), -limit, limit)
    quantized = reshape(convert(scaled, config.data_type), values.shape)
    return quantized, reshape(scales, scales.shape[:-1])


def _powers_of_two(ratio: Array) -> tuple[Array, Array]:
    """Return powers of 2 that are not below `ratio`: in float8_e8m0fnu, and in the dtype of it.

    The byte of float8_e8m0fnu is the biased exponent of a float32.
    """
    bits = bitcast_convert_type(convert(ratio, _FLOAT32), np.dtype("uint32"))
    exponent, mantissa = bits >> _MANTISSA_BITS, bits & ((1 << _MANTISSA_BITS) - 1)
    rounds_up = (mantissa > 0) & (exponent != 2 * _EXPONENT_BIAS)
    subnormal_down = (exponent == 0) & (mantissa <= 1 << (_MANTISSA_BITS - 1))
    exponent = where(rounds_up & ~subnormal_down, exponent + 1, exponent)
    scale = bitcast_convert_type(
        convert(exponent, np.dtype("uint8")), dtypes.dtype("float8_e8m0fnu")
    )
    smallest = 2.0**-15 if ratio.dtype == np.dtype("float16") else 2.0**-_EXPONENT_BIAS
    power = bitcast_convert_type(exponent << _MANTISSA_BITS, _FLOAT32)
    return scale, convert(where(power == 0, np.float32(smallest), power), ratio.dtype)
