"""Conversions between dtypes, bit casts, and the parts of complex numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from olympus_core.base import dtypes
from olympus_core.base.avals import ShapedArray, shaped
from olympus_core.base.dtypes import DType
from olympus_core.base.errors import DTypeError, ShapeError
from olympus_core.ir import sharding_rules, unreduced_rules
from olympus_core.ir.axis_orders import Order, Reordered
from olympus_core.ir.primitive import Avals, Batched, SingleResult, op
from olympus_core.mlir import bindings as mlir
from olympus_core.primitives.elementwise.base import (
    BOOL,
    Elementwise,
    move_axis,
    scalar_zero,
)
from olympus_core.primitives.elementwise.logic import ne_p

if TYPE_CHECKING:
    from olympus_core.lowering.module import LoweringContext
    from olympus_core.raising.stablehlo_operation import StableHloOperation


class Convert(SingleResult):
    """The conversion to `new_dtype`; a complex value loses its imaginary part, a bool is 0 or 1."""

    unreduced_rule: ClassVar[unreduced_rules.Rule] = staticmethod(unreduced_rules.unchanged)
    is_elementwise: ClassVar[bool] = True
    is_cheap = True
    takes_literals: ClassVar[bool] = True
    raised_from: tuple[str, ...] = ("stablehlo.convert",)

    def abstract(self, *avals: ShapedArray, **params: Any) -> ShapedArray:
        return shaped(avals[0].shape, params["new_dtype"], params["weak_type"])

    def sharding_rule(
        self, avals: sharding_rules.Avals, outs: sharding_rules.Avals, params: dict[str, Any]
    ) -> sharding_rules.Specs:
        return [sharding_rules.spec_of(avals[0])]

    def lower(self, ctx: LoweringContext, *operands: Any, **params: Any) -> Any:
        (aval,), out = ctx.avals_in, ctx.aval_out
        x = ctx.full(operands[0], aval, aval.shape)
        if aval.dtype == out.dtype:
            return x
        if dtypes.kind(aval.dtype) == "c" and dtypes.kind(out.dtype) != "c":
            aval = aval.update(dtype=dtypes.to_real(aval.dtype))
            x = mlir.op1("stablehlo.real", aval, (x,))
        if out.dtype == BOOL:
            zero = mlir.full(aval, 0)
            return mlir.op1("stablehlo.compare", out, (x, zero), ne_p.attributes(aval))
        return mlir.op1("stablehlo.convert", out, (x,))

    def raised(self, operation: StableHloOperation, *operands: Any) -> Any:
        return self.bind(*operands, new_dtype=operation.aval_out.dtype, weak_type=False)

    def jvp(
        self, primals: Sequence[Any], tangents: Sequence[Any], **params: Any
    ) -> tuple[Any, Any]:
        out, (t,) = self.bind(*primals, **params), tangents
        if t is None or dtypes.kind(params["new_dtype"]) not in "fc":
            return out, None
        return out, self.bind(t, new_dtype=params["new_dtype"], weak_type=False)

    def transpose(self, cotangent: Any, *operands: Any, **params: Any) -> Sequence[Any]:
        return [self.bind(cotangent, new_dtype=operands[0].aval.dtype, weak_type=False)]

    def batch(
        self, batched: Batched, args: Sequence[Any], dims: Sequence[int | None], **params: Any
    ) -> tuple[Any, Any]:
        return self.bind(*args, **params), dims[0]


class BitcastConvert(SingleResult):
    """The same bits as another dtype; a change of width adds or removes the last axis."""

    is_elementwise: ClassVar[bool] = True
    has_fixed_dtypes: ClassVar[bool] = True
    raised_from: tuple[str, ...] = ("stablehlo.bitcast_convert",)

    def abstract(self, *avals: ShapedArray, **params: Any) -> ShapedArray:
        (x,), new = avals, params["new_dtype"]
        if x.dtype != new and {dtypes.kind(x.dtype), dtypes.kind(new)} & {"b", "c"}:
            raise DTypeError(
                "lax.bitcast_convert_type does not support bool or complex values unless the "
                "operand and destination types match. Got operand "
                f"dtype={dtypes.long_name(x.dtype)}, new_dtype={dtypes.long_name(new)}"
            )
        old_bits, new_bits = bit_width(x.dtype), bit_width(new)
        if old_bits == new_bits:
            return shaped(x.shape, new)
        if old_bits > new_bits:
            return shaped((*x.shape, old_bits // new_bits), new)
        if not x.shape or x.shape[-1] * old_bits != new_bits:
            raise ShapeError(
                f"Attempting to convert array of shape {x.shape} from {dtypes.long_name(x.dtype)} "
                f"of size {old_bits} bits to {dtypes.long_name(new)} of size {new_bits} bits: the "
                f"last dimension must be {new_bits // old_bits}"
            )
        return shaped(x.shape[:-1], new)

    def sharding_rule(
        self, avals: sharding_rules.Avals, outs: sharding_rules.Avals, params: dict[str, Any]
    ) -> sharding_rules.Specs:
        spec = sharding_rules.spec_of(avals[0])
        return [(*spec, None)[: outs[0].ndim]]

    def lower(self, ctx: LoweringContext, *operands: Any, **params: Any) -> Any:
        return mlir.op1("stablehlo.bitcast_convert", ctx.aval_out, operands)

    def raised(self, operation: StableHloOperation, *operands: Any) -> Any:
        return self.bind(*operands, new_dtype=operation.aval_out.dtype)

    def jvp(
        self, primals: Sequence[Any], tangents: Sequence[Any], **params: Any
    ) -> tuple[Any, Any]:
        return self.bind(*primals, **params), None

    def batch(
        self, batched: Batched, args: Sequence[Any], dims: Sequence[int | None], **params: Any
    ) -> tuple[Any, Any]:
        return self.bind(move_axis(args[0], dims[0] or 0, 0), **params), 0

    def reordered(
        self, orders: Sequence[Order | None], avals: Avals, **params: Any
    ) -> Reordered | None:
        return None  # a change of width is along the last axis


def bit_width(dt: DType) -> int:
    """Return the number of bits of an element: 4 for int4, 1 for bool."""
    if dt == BOOL:
        return 1
    kind = dtypes.kind(dt)
    if kind in "iu":
        return int(dtypes.iinfo(dt).bits)
    return int(dtypes.finfo(dt).bits) if kind == "f" else dt.itemsize * 8


class StopGradient(Elementwise):
    """The operand, with a derivative of zero."""

    is_one_operation: ClassVar[bool] = False

    def lower(self, ctx: LoweringContext, *operands: Any, **params: Any) -> Any:
        return ctx.full(operands[0], ctx.avals_in[0], ctx.aval_out.shape)


class ReducePrecision(Elementwise):
    """Rounding to a float of `exponent_bits` and `mantissa_bits`, in the operand's dtype."""

    unreduced_rule: ClassVar[unreduced_rules.Rule] = staticmethod(unreduced_rules.unchanged)

    def lower(self, ctx: LoweringContext, *operands: Any, **params: Any) -> Any:
        x = ctx.full(operands[0], ctx.avals_in[0], ctx.aval_out.shape)
        attributes = {name: mlir.i32_attr(params[name]) for name in sorted(params)}
        return mlir.op1("stablehlo.reduce_precision", ctx.aval_out, (x,), attributes)

    def raised(self, operation: StableHloOperation, *operands: Any) -> Any:
        names = ("exponent_bits", "mantissa_bits")
        return self.bind(*operands, **{name: operation.integer(name) for name in names})


class Complex(Elementwise):
    """The complex number of two real parts of 32 or 64 bits."""

    def abstract(self, *avals: ShapedArray, **params: Any) -> ShapedArray:
        out = super().abstract(*avals, **params)
        if dtypes.to_real(out.dtype) != avals[0].dtype:
            raise DTypeError(
                f"complex does not accept dtype {dtypes.long_name(avals[0].dtype)} at position 0. "
                "Accepted dtypes at position 0 are subtypes of float32, float64; got "
                f"{avals[0].long_name()}",
                hint="convert it first: x.astype('float32')",
            )
        return out


real_p = Elementwise(
    "real",
    "stablehlo.real",
    "c",
    lambda t, out, x: op.real(t),
    result=dtypes.to_real,
    linear=[lambda c, x: op.complex(c, scalar_zero(c))],
    is_cheap=True,
)
# The pairing of cotangent c and tangent t is real(c t), and for imag(t) it is real(-i c t).
imag_p = Elementwise(
    "imag",
    "stablehlo.imag",
    "c",
    lambda t, out, x: op.imag(t),
    result=dtypes.to_real,
    linear=[lambda c, x: op.complex(scalar_zero(c), op.neg(c))],
    is_cheap=True,
)
conj_p = Elementwise(
    "conj",
    "chlo.conj",
    "c",
    lambda t, out, x: op.conj(t),
    linear=[lambda c, x: op.conj(c)],
    is_cheap=True,
)
stop_gradient_p = StopGradient("stop_gradient", "", "buifc", is_cheap=True)
reduce_precision_p = ReducePrecision(
    "reduce_precision",
    "stablehlo.reduce_precision",
    "f",
    lambda t, out, x, **params: op.reduce_precision(t, **params),
    linear=[lambda c, x, **params: op.reduce_precision(c, **params)],
)
complex_p = Complex(
    "complex",
    "stablehlo.complex",
    "f",
    lambda t, out, x, y: op.complex(t, scalar_zero(t)),
    lambda t, out, x, y: op.complex(scalar_zero(t), t),
    result=dtypes.to_complex,
    linear=[lambda c, x, y: op.real(c), lambda c, x, y: op.neg(op.imag(c))],
    is_cheap=True,
)
convert_element_type_p = Convert("convert_element_type")
bitcast_convert_type_p = BitcastConvert("bitcast_convert_type")
