"""The product of arrays that are quantized in blocks, and its derivatives."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from olympus_core.base import dtypes
from olympus_core.base.avals import get_aval
from olympus_core.base.errors import ArgumentError, DTypeError
from olympus_core.control.custom_vjp import custom_vjp
from olympus_core.ir.tracer import Array
from olympus_core.ir.typing import ArrayLike, DTypeLike
from olympus_core.library.lax.dot import DotDimensionNumbers, dot_general
from olympus_core.library.lax.shape import reshape, transpose
from olympus_core.library.nn.quantization import BlockScaleConfig, quantize
from olympus_core.library.nn.scaled import scaled_matmul
from olympus_core.library.numpy.creation.array import asarray
from olympus_core.library.numpy.elementwise.arithmetic import absolute
from olympus_core.library.numpy.sorting.searching import where
from olympus_core.library.promotion import convert

_RESULTS = [dtypes.dtype(name) for name in ("float32", "bfloat16", "float16")]


def scaled_dot_general(
    lhs: ArrayLike,
    rhs: ArrayLike,
    dimension_numbers: DotDimensionNumbers,
    preferred_element_type: DTypeLike = "float32",
    configs: Sequence[BlockScaleConfig] | None = None,
    implementation: str | None = None,
) -> Array:
    """Return `lax.dot_general` of operands that are quantized in blocks of the contracted axes.

    `configs` has the formats of `lhs`, `rhs` and the cotangents; `get_scaled_dot_general_config`
    creates one. Without it, nothing is quantized. `preferred_element_type`, the result's dtype, is
    float32, bfloat16 or float16. In mode "mxfp8" the derivatives are products of quantized arrays;
    in mode "nvfp4" they are those of the operands, and 0 where an operand is clipped.
    `implementation` is deprecated and has no effect.

    Raises DTypeError (a TypeError) for another result dtype, ArgumentError for fewer than three
    formats, and ShapeError if the elements to contract are no multiple of the size of a block.

    >>> configs = [get_scaled_dot_general_config("mxfp8")] * 3
    >>> x = ones((2, 32))
    >>> scaled_dot_general(x, x, (((1,), (1,)), ((), ())), configs=configs)
    Array([[32., 32.],
           [32., 32.]], dtype=float32)
    """
    if implementation is not None:
        warnings.warn(
            "`implementation` of scaled_dot_general has no effect", DeprecationWarning, stacklevel=2
        )
    if configs is None:
        return dot_general(
            lhs, rhs, dimension_numbers, preferred_element_type=preferred_element_type
        )
    dtype = dtypes.requested("scaled_dot_general", preferred_element_type)
    if dtype not in _RESULTS:
        raise DTypeError(
            "scaled_dot_general supports a preferred_element_type of float32, bfloat16 or "
            f"float16, but got {dtype}"
        )
    if len(configs) != 3:
        raise ArgumentError(
            f"scaled_dot_general needs the configs of lhs, rhs and cotangents, got {len(configs)}"
        )
    product = _Product(_numbers(dimension_numbers), dtype)
    result: Array = _differentiable(product, configs)(lhs, rhs)
    return result


class _Numbers(NamedTuple):
    """The axes of a product: contracted and batched, of both operands."""

    lhs_contract: tuple[int, ...]
    rhs_contract: tuple[int, ...]
    lhs_batch: tuple[int, ...]
    rhs_batch: tuple[int, ...]

    def swapped(self) -> _Numbers:
        """Return the axes for swapped operands."""
        return _Numbers(self.rhs_contract, self.lhs_contract, self.rhs_batch, self.lhs_batch)


def _numbers(dimension_numbers: DotDimensionNumbers) -> _Numbers:
    contract, batch = dimension_numbers
    return _Numbers(*[tuple(axes) for axes in (*contract, *batch)])


def _differentiable(product: _Product, configs: Sequence[BlockScaleConfig]) -> Any:
    """Return a function of two arrays with the derivatives of `scaled_dot_general`."""
    lhs_config, rhs_config, cotangent_config = configs

    @custom_vjp
    def scaled_dot_general(lhs: Array, rhs: Array) -> Array:
        return product.quantized(lhs, rhs, lhs_config, rhs_config)

    def forward(lhs: Array, rhs: Array) -> tuple[Array, tuple[Array, Array]]:
        return scaled_dot_general(lhs, rhs), (lhs, rhs)

    def backward(operands: tuple[Array, Array], cotangent: Array) -> tuple[Array, Array]:
        lhs, rhs = operands
        swapped = product._replace(numbers=product.numbers.swapped())
        found = (
            product.cotangent(cotangent, lhs, rhs, cotangent_config, rhs_config),
            swapped.cotangent(cotangent, rhs, lhs, cotangent_config, lhs_config, swapped=True),
        )
        pairs = zip(found, operands, configs, strict=False)
        one, other = [_unclipped(convert(g, x.dtype), x, config) for g, x, config in pairs]
        return one, other

    scaled_dot_general.defvjp(forward, backward)
    return scaled_dot_general


class _Product(NamedTuple):
    """A product with the axes `numbers` and a result of `dtype`."""

    numbers: _Numbers
    dtype: dtypes.DType

    def quantized(
        self, lhs: Array, rhs: Array, lhs_config: BlockScaleConfig, rhs_config: BlockScaleConfig
    ) -> Array:
        """Return the product of operands that are quantized first."""
        lhs, rhs = asarray(lhs), asarray(rhs)
        n = self.numbers
        a = _rows(lhs, n.lhs_contract, n.lhs_batch)
        b = _rows(rhs, n.rhs_contract, n.rhs_batch)
        product = _scaled(a, b, lhs_config, rhs_config, self.dtype)
        free = _shape(lhs, _free_axes(lhs, n.lhs_contract, n.lhs_batch))
        free += _shape(rhs, _free_axes(rhs, n.rhs_contract, n.rhs_batch))
        return reshape(product, (*_shape(lhs, n.lhs_batch), *free))

    def cotangent(
        self,
        cotangent: Array,
        lhs: Array,
        rhs: Array,
        cotangent_config: BlockScaleConfig,
        rhs_config: BlockScaleConfig,
        *,
        swapped: bool = False,
    ) -> Array:
        """Return the cotangent of `lhs`; `swapped` if `lhs` is the second operand."""
        n = self.numbers
        batch_count = len(n.lhs_batch)
        free = _free_axes(lhs, n.lhs_contract, n.lhs_batch)
        summed = _free_axes(rhs, n.rhs_contract, n.rhs_batch)
        start = batch_count if swapped else batch_count + len(free)
        axes = tuple(range(start, start + len(summed)))
        g = _rows(cotangent, axes, tuple(range(batch_count)))
        y = _rows(rhs, summed, n.rhs_batch)
        if cotangent_config.mode == "nvfp4":
            batched = (((2,), (2,)), ((0,), (0,)))
            found = dot_general(g, y, batched, preferred_element_type=self.dtype)
        else:
            found = _scaled(g, y, cotangent_config, rhs_config, self.dtype)
        order = (*n.lhs_batch, *free, *_in_order(n.lhs_contract, n.rhs_contract))
        # `y` has the contracted axes in the order of `rhs`
        shaped = reshape(found, _shape(lhs, order))
        return transpose(shaped, [order.index(axis) for axis in range(lhs.ndim)])


def _scaled(
    a: Array,
    b: Array,
    a_config: BlockScaleConfig,
    b_config: BlockScaleConfig,
    dtype: dtypes.DType,
) -> Array:
    """Return the products of the quantized rows of `a` and `b`."""
    a_values, a_scales = quantize(a, a_config)
    b_values, b_scales = quantize(b, b_config)
    if a_config.global_scale is None or b_config.global_scale is None:
        return scaled_matmul(a_values, b_values, a_scales, b_scales, dtype)
    product = scaled_matmul(a_values, b_values, a_scales, b_scales, "float32")
    factor = asarray(a_config.global_scale) * asarray(b_config.global_scale)
    return convert(product * factor, dtype)


def _unclipped(cotangent: Array, operand: Array, config: BlockScaleConfig) -> Array:
    """Return 0 for elements of `operand` that its format cannot represent."""
    if config.global_scale is None:
        return cotangent
    largest = [float(dtypes.finfo(t).max) for t in (config.data_type, config.scale_type)]
    limit = asarray(config.global_scale) * np.float32(math.prod(largest))
    return where(absolute(operand) <= limit, cotangent, 0)


def _free_axes(x: Array, contract: Sequence[int], batch: Sequence[int]) -> tuple[int, ...]:
    return tuple(axis for axis in range(x.ndim) if axis not in (*contract, *batch))


def _in_order(axes: Sequence[int], keys: Sequence[int]) -> tuple[int, ...]:
    return tuple(axis for _, axis in sorted(zip(keys, axes, strict=True)))


def _shape(x: Array, axes: Sequence[int]) -> tuple[int, ...]:
    return tuple(get_aval(x).shape[axis] for axis in axes)


def _rows(x: Array, contract: Sequence[int], batch: Sequence[int]) -> Array:
    """Return `x` as (batch, free, contracted)."""
    groups = (batch, _free_axes(x, contract, batch), contract)
    moved = transpose(x, [axis for group in groups for axis in group])
    return reshape(moved, tuple(math.prod(_shape(x, group)) for group in groups))
