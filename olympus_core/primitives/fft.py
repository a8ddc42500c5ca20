"""Discrete Fourier transforms along the last axes.

A transform is linear, and the transform of complex numbers is a symmetric matrix.  So the rules
follow from linear algebra; only the frequencies that transforms of real numbers omit need care.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from olympus_core.base import dtypes
from olympus_core.base.avals import Shape, ShapedArray, shape_of, shaped
from olympus_core.base.errors import DTypeError, ShapeError
from olympus_core.ir import sharding_rules
from olympus_core.ir.primitive import Batched, LinearPrimitive, SingleResult, op
from olympus_core.mlir import bindings as mlir
from olympus_core.primitives.elementwise.base import (
    at_front,
    elementwise_constant,
    scalar_zero,
    spread,
)

if TYPE_CHECKING:
    from olympus_core.lowering.module import LoweringContext
    from olympus_core.raising.stablehlo_operation import StableHloOperation


class FftType(enum.IntEnum):
    """The kind of transform: forward or inverse, of complex numbers or to and from real ones."""

    FFT = 0
    IFFT = 1
    RFFT = 2
    IRFFT = 3


_OPERANDS = {FftType.RFFT: "float32 or float64"}


class Fft(LinearPrimitive, SingleResult):
    """The transform of kind `fft_type` along the last axes, one for each of `fft_lengths`.

    The lengths are the lengths of the signal.  A real signal of n samples along the last axis has
    n // 2 + 1 frequencies: RFFT returns them, and IRFFT takes them.  IFFT and IRFFT divide by the
    number of samples.
    """

    raised_from: tuple[str, ...] = ("stablehlo.fft",)

    def abstract(self, *avals: ShapedArray, **params: Any) -> ShapedArray:
        (x,) = avals
        kind: FftType = params["fft_type"]
        lengths: Shape = params["fft_lengths"]
        allowed = "f" if kind is FftType.RFFT else "c"
        if dtypes.kind(x.dtype) not in allowed or dtypes.to_real(x.dtype).itemsize < 4:
            wanted = _OPERANDS.get(kind, "complex64 or complex128")
            raise DTypeError(f"fft of kind {kind.name} takes {wanted}, and got {x.long_name()}")
        if not 1 <= len(lengths) <= 3 or len(lengths) > x.ndim:
            raise ShapeError(
                f"fft transforms the last 1 to 3 axes, and got {len(lengths)} lengths for "
                f"{x.long_name()}"
            )
        half = (*lengths[:-1], lengths[-1] // 2 + 1)
        before = half if kind is FftType.IRFFT else lengths
        if x.shape[x.ndim - len(lengths) :] != before:
            raise ShapeError(
                f"{kind.name} input shape {x.shape} minor dimensions must be equal to "
                + (f"{before} for " if before != lengths else "")
                + f"fft_lengths {lengths}"
            )
        after = half if kind is FftType.RFFT else lengths
        dtype = dtypes.to_real(x.dtype) if kind is FftType.IRFFT else dtypes.to_complex(x.dtype)
        return shaped((*x.shape[: x.ndim - len(lengths)], *after), dtype)

    def sharding_rule(
        self, avals: sharding_rules.Avals, outs: sharding_rules.Avals, params: dict[str, Any]
    ) -> sharding_rules.Specs:
        if params["fft_type"] in (FftType.FFT, FftType.IFFT):
            return [sharding_rules.spec_of(avals[0])]
        ranks = [len(params["fft_lengths"])]
        return sharding_rules.batch_dimensions(self.name, avals, ranks, outs)

    def lower(self, ctx: LoweringContext, *operands: Any, **params: Any) -> Any:
        out, (x,) = ctx.aval_out, ctx.avals_in
        if not out.size or not x.size:  # the sum over no elements
            return mlir.full(out, 0)
        attributes = {
            "fft_type": mlir.parsed_attr(f"#stablehlo<fft_type {params['fft_type'].name}>"),
            "fft_length": mlir.i64_array(params["fft_lengths"]),
        }
        return mlir.op1("stablehlo.fft", out, operands, attributes)

    def raised(self, operation: StableHloOperation, *operands: Any) -> Any:
        kind = operation.text("fft_type").rpartition(" ")[2].rstrip(">")
        lengths = operation.ints("fft_length")
        return self.bind(*operands, fft_type=FftType[kind], fft_lengths=lengths)

    def transpose(self, cotangent: Any, *operands: Any, **params: Any) -> Sequence[Any]:
        kind, lengths = params["fft_type"], params["fft_lengths"]
        if kind is FftType.RFFT:
            return [_of_frequencies_left_out(cotangent, lengths)]
        if kind is FftType.IRFFT:
            return [_double_paired_frequencies(cotangent, lengths)]
        return [self.bind(cotangent, **params)]

    def batch(
        self, batched: Batched, args: Sequence[Any], dims: Sequence[int | None], **params: Any
    ) -> tuple[Any, Any]:
        return self.bind(at_front(args[0], dims[0], batched.size), **params), 0


def _of_frequencies_left_out(c: Any, lengths: Shape) -> Any:
    """Return the real part of the cotangent's transform, with zeros for the omitted frequencies."""
    shape = shape_of(c)
    missing = lengths[-1] - shape[-1]
    config = (*((0, 0, 0),) * (len(shape) - 1), (0, missing, 0))
    full = op.pad(c, scalar_zero(c), padding_config=config)
    return op.real(op.fft(full, fft_type=FftType.FFT, fft_lengths=lengths))


def _double_paired_frequencies(c: Any, lengths: Shape) -> Any:
    """Return the conjugate of the transform, doubled where the mirrored frequency is omitted.

    Frequency 0, and the middle one of an even length, are their own mirror images.
    """
    frequencies = op.fft(c, fft_type=FftType.RFFT, fft_lengths=lengths)
    real, imag = op.real(frequencies), op.imag(frequencies)
    shape, count = shape_of(real), math.prod(lengths)
    k = op.iota(shape=shape, dimension=len(shape) - 1, dtype=np.dtype("int32"))
    alone = op.eq(k, np.int32(0))
    if lengths[-1] % 2 == 0:
        alone = op.or_(alone, op.eq(k, np.int32(lengths[-1] // 2)))
    once, twice = (spread(elementwise_constant(real, n / count), shape) for n in (1, 2))
    weights = op.select_n(alone, twice, once)
    return op.complex(op.mul(real, weights), op.neg(op.mul(imag, weights)))


fft_p = Fft("fft")
