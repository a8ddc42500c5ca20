"""Conversions of the elements of an array: to another dtype, of their bits, of their precision."""

from __future__ import annotations

import operator

from olympus_core.base import dtypes
from olympus_core.base.avals import self_converted
from olympus_core.base.errors import ArgumentError
from olympus_core.ir.tracer import Array
from olympus_core.ir.typing import ArrayLike, DTypeLike
from olympus_core.library.promotion import convert_array, convert_to_requested
from olympus_core.primitives.elementwise import conversion


def reduce_precision(operand: ArrayLike, exponent_bits: int, mantissa_bits: int) -> Array:
    """Return `operand` rounded to a float of `exponent_bits` and `mantissa_bits`, in its dtype.

    Raises ArgumentError if `exponent_bits` is less than 1 or `mantissa_bits` less than 0.

    >>> reduce_precision(array([1.0, 3.1415927]), 8, 7)
    Array([1.      , 3.140625], dtype=float32)
    """
    exponent_bits, mantissa_bits = operator.index(exponent_bits), operator.index(mantissa_bits)
    if exponent_bits < 1:
        raise ArgumentError(
            f"reduce_precision: exponent_bits must be positive; got {exponent_bits}"
        )
    if mantissa_bits < 0:
        raise ArgumentError(
            f"reduce_precision: mantissa_bits must be non-negative; got {mantissa_bits}"
        )
    return conversion.reduce_precision_p.bind(
        operand, exponent_bits=exponent_bits, mantissa_bits=mantissa_bits
    )


def convert_element_type(operand: ArrayLike, new_dtype: DTypeLike) -> Array:
    """`operand` as `new_dtype` (complex to real drops the imaginary part).

    >>> convert_element_type(array([1.5, -1.5]), "int32")
    Array([ 1, -1], dtype=int32)
    """
    if new_dtype is None:
        raise ArgumentError("dtype must be specified: new_dtype of convert_element_type is None")
    dtype = dtypes.requested("convert_element_type", new_dtype)
    return convert_array(convert_to_requested(self_converted(operand), dtype), dtype, False)


def bitcast_convert_type(operand: ArrayLike, new_dtype: DTypeLike) -> Array:
    """Return the bits of `operand` as `new_dtype`; another width adds or removes the last axis.

    >>> bitcast_convert_type(array([1.0, -1.0]), "int32")
    Array([ 1065353216, -1082130432], dtype=int32)
    """
    dtype = dtypes.requested("bitcast_convert_type", new_dtype)
    return conversion.bitcast_convert_type_p.bind(operand, new_dtype=dtype)
