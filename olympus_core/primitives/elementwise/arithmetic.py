"""Sums, products, powers, extrema, signs and rounding."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from olympus_core.base import dtypes
from olympus_core.base.avals import ShapedArray, get_aval, shape_of, shaped
from olympus_core.ir import unreduced_rules
from olympus_core.ir.primitive import op
from olympus_core.mlir import bindings as mlir
from olympus_core.primitives.elementwise.base import (
    Elementwise,
    check_kinds,
    check_one_dtype,
    elementwise_constant,
    join_shapes,
    scalar_zero,
    spread,
    times,
    zeros_like,
)
from olympus_core.primitives.elementwise.logic import (
    emit_compare,
    emit_extremum,
    eq_p,
    lt_p,
)
from olympus_core.primitives.elementwise.special_values import Mended, infinite_beside_nan

if TYPE_CHECKING:
    from olympus_core.lowering.module import LoweringContext
    from olympus_core.raising.stablehlo_operation import StableHloOperation


class Sign(Elementwise):
    """-1, 0 or 1 by sign; StableHLO has no sign of unsigned integers."""

    def lower(self, ctx: LoweringContext, *operands: Any, **params: Any) -> Any:
        if dtypes.kind(ctx.aval_out.dtype) != "u":
            return super().lower(ctx, *operands, **params)
        out = ctx.aval_out
        full = ctx.full(operands[0], ctx.avals_in[0], out.shape)
        return mlir.op1("stablehlo.minimum", out, (full, mlir.full(out, 1)))


class Abs(Elementwise):
    """The magnitude; unsigned integers are unchanged; a complex with an infinite part gives inf."""

    complex_is_one_operation: ClassVar[bool] = False

    def lower(self, ctx: LoweringContext, *operands: Any, **params: Any) -> Any:
        if not params.get("is_corrected", True):
            return self.lower_uncorrected(ctx, *operands)
        kind, out = dtypes.kind(ctx.avals_in[0].dtype), ctx.aval_out
        x = ctx.full(operands[0], ctx.avals_in[0], out.shape)
        if kind == "u":
            return x
        value = mlir.op1(self.op, out, (x,))
        return infinite_beside_nan(out, x, value) if kind == "c" else value


class Sum(Elementwise):
    """A sum or difference of two operands, whose tangent is that of their tangents."""

    def jvp(
        self, primals: Sequence[Any], tangents: Sequence[Any], **params: Any
    ) -> tuple[Any, Any]:
        if any(t is None for t in tangents):
            return super().jvp(primals, tangents, **params)
        return self.bind(*primals), self.bind(*tangents)


class Add(Sum):
    """The sum of two operands."""

    unreduced_rule: ClassVar[unreduced_rules.Rule] = staticmethod(unreduced_rules.added)


class AddAny(Add):
    """The sum of tangents or cotangents, as JAX names it; `stablehlo.add` is raised to `add`."""

    is_one_operation: ClassVar[bool] = False


class Mul(Elementwise):
    """The product of two operands."""

    unreduced_rule: ClassVar[unreduced_rules.Rule] = staticmethod(unreduced_rules.multiplied)


class Square(Elementwise):
    """The product of an operand with itself; `chlo.square` of a complex operand is another sum."""

    is_one_operation: ClassVar[bool] = False

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.raised_from = ("chlo.square",)

    def lower(self, ctx: LoweringContext, *operands: Any, **params: Any) -> Any:
        x = ctx.full(operands[0], ctx.avals_in[0], ctx.aval_out.shape)
        return _multiply(ctx.aval_out, x, x)

    def raised(self, operation: StableHloOperation, *operands: Any) -> Any:
        is_complex = dtypes.kind(operation.avals_in[0].dtype) == "c"
        return None if is_complex else self.bind(*operands)


class Round(Elementwise):
    """The nearest integer; `rounding_method` 0 rounds halves away from zero, 1 to even."""

    def lower(self, ctx: LoweringContext, *operands: Any, **params: Any) -> Any:
        name = "even" if params["rounding_method"] == 1 else "afz"
        full = ctx.full(operands[0], ctx.avals_in[0], ctx.aval_out.shape)
        return mlir.op1(f"stablehlo.round_nearest_{name}", ctx.aval_out, (full,))

    def raised(self, operation: StableHloOperation, *operands: Any) -> Any:
        halves = ("stablehlo.round_nearest_afz", "stablehlo.round_nearest_even")
        return self.bind(*operands, rounding_method=halves.index(operation.name))


class Extremum(Elementwise):
    """The greater or lesser element of each pair; complex pairs compare in lexicographic order."""

    complex_is_one_operation: ClassVar[bool] = False

    def lower(self, ctx: LoweringContext, *operands: Any, **params: Any) -> Any:
        if not params.get("is_corrected", True):
            return self.lower_uncorrected(ctx, *operands)
        out = ctx.aval_out
        x, y = (ctx.full(v, a, out.shape) for v, a in zip(operands, ctx.avals_in, strict=True))
        return emit_extremum(self.op, out, x, y)


class Relu(Elementwise):
    """max(x, 0) with the derivative 0 at 0, where `max` has the derivative 1/2."""

    is_one_operation: ClassVar[bool] = False

    def lower(self, ctx: LoweringContext, *operands: Any, **params: Any) -> Any:
        out = ctx.aval_out
        full = ctx.full(operands[0], ctx.avals_in[0], out.shape)
        return emit_extremum("stablehlo.maximum", out, full, mlir.full(out, 0))


class IntegerPow(Elementwise):
    """x ** y for a Python int y, by repeated squaring."""

    is_one_operation: ClassVar[bool] = False

    def lower(self, ctx: LoweringContext, *operands: Any, **params: Any) -> Any:
        out, y = ctx.aval_out, params["y"]
        base = ctx.full(operands[0], ctx.avals_in[0], out.shape)
        if y == 0:
            return mlir.full(out, 1)
        result, power = None, abs(y)
        while power:
            if power & 1:
                result = base if result is None else _multiply(out, result, base)
            power >>= 1
            if power:
                base = _multiply(out, base, base)
        if y < 0:
            return mlir.op1("stablehlo.divide", out, (mlir.full(out, 1), result))
        return result


def _multiply(aval: ShapedArray, x: Any, y: Any) -> Any:
    return mlir.op1("stablehlo.multiply", aval, (x, y))


class Pow(Elementwise):
    """x ** y; an integer exponent is allowed with a base of another kind."""

    def abstract(self, *avals: ShapedArray, **params: Any) -> ShapedArray:
        x, y = avals
        check_kinds(self.name, "ifcu", x)
        if dtypes.kind(y.dtype) not in "iu":
            check_one_dtype(self.name, avals)
        weak = x.weak_type and y.weak_type
        return shaped(join_shapes(self.name, avals), x.dtype, weak)

    def lower(self, ctx: LoweringContext, *operands: Any, **params: Any) -> Any:
        out = ctx.aval_out
        x, y = (ctx.full(v, a, out.shape) for v, a in zip(operands, ctx.avals_in, strict=True))
        exponent = ctx.avals_in[1].update(shape=out.shape)
        if dtypes.kind(out.dtype) in "iu":
            return _emit_power_of_integers(out, exponent, x, y)
        if exponent.dtype != out.dtype:
            y = mlir.op1("stablehlo.convert", out, (y,))
        return mlir.op1("stablehlo.power", out, (x, y))

    def raised(self, operation: StableHloOperation, *operands: Any) -> Any:
        if dtypes.kind(operation.aval_out.dtype) in "iu":
            return None  # its lowering wraps around, and that of StableHLO reads six bits
        return self.bind(*operands)


def _emit_power_of_integers(aval: ShapedArray, exponent: ShapedArray, x: Any, y: Any) -> Any:
    """Emit x ** y modulo two to the width of x, by squaring: XLA's power reads only six bits of y.

    A negative power y of 1 or -1 is its power -y; a negative power of any other integer is 0.
    """
    bits, one = dtypes.iinfo(exponent.dtype).bits, mlir.full(aval, 1)
    result, base = one, x
    for i in range(bits):
        bit = mlir.full(exponent, 1 << i if i + 1 < bits or exponent.dtype.kind == "u" else -1 << i)
        chosen = mlir.op1("stablehlo.and", exponent, (y, bit))
        factor = _choose(emit_compare(eq_p, exponent, chosen, bit), aval, base, one)
        result = factor if i == 0 else _multiply(aval, result, factor)
        if i + 1 < bits:
            base = _multiply(aval, base, base)
    if dtypes.kind(exponent.dtype) == "u":
        return result
    is_unit = emit_compare(eq_p, aval, x, one)
    if dtypes.kind(aval.dtype) == "i":
        is_unit = emit_compare(eq_p, aval, mlir.op1("stablehlo.abs", aval, (x,)), one)
    inverse = _choose(is_unit, aval, result, mlir.full(aval, 0))
    is_negative = emit_compare(lt_p, exponent, y, mlir.full(exponent, 0))
    return _choose(is_negative, aval, inverse, result)


def _choose(mask: Any, aval: ShapedArray, x: Any, y: Any) -> Any:
    return mlir.op1("stablehlo.select", aval, (mask, x, y))


def _abs_tangent(t: Any, out: Any, x: Any) -> Any:
    if dtypes.kind(get_aval(x).dtype) == "c":
        length = op.select_n(
            op.eq(out, scalar_zero(out)), out, elementwise_constant(out, 1)
        )  # avoids 0 / 0
        length = op.convert_element_type(length, new_dtype=get_aval(x).dtype, weak_type=False)
        return op.real(op.mul(t, op.div(op.conj(x), length)))
    return op.select_n(op.ge(x, scalar_zero(x)), op.neg(t), t)


def _integer_pow_tangent(t: Any, out: Any, x: Any, *, y: int) -> Any:
    if y == 0:
        return op.mul(t, scalar_zero(x))
    return times(t, y, x if y == 2 else op.integer_pow(x, y=y - 1))


def _pow_base(t: Any, out: Any, x: Any, y: Any) -> Any:
    """Return y x^(y - 1), which is 0 for an integer y = 0, also where x is 0."""
    if dtypes.kind(get_aval(y).dtype) in "iu":
        less = op.sub(op.max(y, elementwise_constant(y, 1)), elementwise_constant(y, 1))
        factor = op.convert_element_type(y, new_dtype=get_aval(x).dtype, weak_type=False)
        return op.mul(t, op.mul(factor, op.pow(x, less)))
    return op.mul(t, op.mul(y, op.pow(x, op.sub(y, elementwise_constant(y, 1)))))


def _pow_exponent(t: Any, out: Any, x: Any, y: Any) -> Any:
    """Return log(x) x^y, and 0 where x is 0."""
    shape = shape_of(x)
    one = spread(elementwise_constant(x, 1), shape)
    safe = op.select_n(op.eq(x, scalar_zero(x)), x, one)
    return op.mul(t, op.mul(op.log(safe), out))


def _share(x: Any, out: Any, y: Any) -> Any:
    """Return the derivative of an extremum by x: 1, 0, or 1/2 where x equals y."""
    shape, dtype = shape_of(out), get_aval(out).dtype
    is_x = op.convert_element_type(op.eq(x, out), new_dtype=dtype, weak_type=False)
    tie = op.convert_element_type(op.eq(y, out), new_dtype=dtype, weak_type=False)
    return spread(op.div(is_x, op.add(tie, elementwise_constant(out, 1))), shape)


def _relu_tangent(t: Any, out: Any, x: Any) -> Any:
    is_complex = dtypes.kind(get_aval(x).dtype) == "c"
    # the greater of x and 0 is x unless it is 0; for floats that holds except for nan
    is_above = op.ne(out, scalar_zero(x)) if is_complex else op.gt(x, scalar_zero(x))
    return op.select_n(is_above, zeros_like(t), t)


def _rem_tangent(t: Any, out: Any, x: Any, y: Any) -> Any:
    quotient = op.div(x, y)
    whole = op.mul(op.sign(quotient), op.floor(op.abs(quotient)))
    return op.neg(op.mul(t, whole))


neg_p = Elementwise(
    "neg",
    "stablehlo.negate",
    "uifc",
    lambda t, out, x: op.neg(t),
    linear=[lambda c, x: op.neg(c)],
    is_cheap=True,
)
sign_p = Sign("sign", "stablehlo.sign", "uifc", is_cheap=True)
floor_p = Elementwise("floor", "stablehlo.floor", "f", is_cheap=True)
ceil_p = Elementwise("ceil", "stablehlo.ceil", "f", is_cheap=True)
round_p = Round("round", "stablehlo.round_nearest_afz", "f", is_cheap=True)
round_p.raised_from = ("stablehlo.round_nearest_afz", "stablehlo.round_nearest_even")
sqrt_p = Mended(
    "sqrt",
    "stablehlo.sqrt",
    "fc",
    lambda t, out, x: op.mul(t, op.div(elementwise_constant(x, 0.5), out)),
)
rsqrt_p = Elementwise(
    "rsqrt", "stablehlo.rsqrt", "fc", lambda t, out, x: times(t, -0.5, op.div(out, x))
)
cbrt_p = Elementwise(
    "cbrt",
    "stablehlo.cbrt",
    "f",
    lambda t, out, x: times(t, 1 / 3, op.integer_pow(out, y=-2)),
)
abs_p = Abs("abs", "stablehlo.abs", "uifc", _abs_tangent, result=dtypes.to_real, is_cheap=True)
square_p = Square(
    "square", "stablehlo.multiply", "uifc", lambda t, out, x: times(t, 2, x), is_cheap=True
)
integer_pow_p = IntegerPow(
    "integer_pow", "stablehlo.multiply", "uifc", _integer_pow_tangent, is_cheap=True
)


def _sum(cls: type[Add], name: str) -> Add:
    return cls(
        name,
        "stablehlo.add",
        "buifc",
        lambda t, out, x, y: t,
        lambda t, out, x, y: t,
        linear=[lambda c, x, y: c, lambda c, x, y: c],
        is_cheap=True,
    )


add_p, add_any_p = _sum(Add, "add"), _sum(AddAny, "add_any")
sub_p = Sum(
    "sub",
    "stablehlo.subtract",
    "uifc",
    lambda t, out, x, y: t,
    lambda t, out, x, y: op.neg(t),
    linear=[lambda c, x, y: c, lambda c, x, y: op.neg(c)],
    is_cheap=True,
)
mul_p = Mul(
    "mul",
    "stablehlo.multiply",
    "buifc",
    lambda t, out, x, y: op.mul(t, y),
    lambda t, out, x, y: op.mul(x, t),
    linear=[lambda c, x, y: op.mul(c, y), lambda c, x, y: op.mul(x, c)],
    is_cheap=True,
)
div_p = Elementwise(
    "div",
    "stablehlo.divide",
    "uifc",
    lambda t, out, x, y: op.div(t, y),
    lambda t, out, x, y: op.mul(t, op.neg(op.div(out, y))),
    linear=[lambda c, x, y: op.div(c, y), None],
    is_cheap=True,
)
rem_p = Elementwise("rem", "stablehlo.remainder", "uif", lambda t, out, x, y: t, _rem_tangent)
max_p = Extremum(
    "max",
    "stablehlo.maximum",
    "buifc",
    lambda t, out, x, y: op.mul(t, _share(x, out, y)),
    lambda t, out, x, y: op.mul(t, _share(y, out, x)),
    is_cheap=True,
)
min_p = Extremum(
    "min",
    "stablehlo.minimum",
    "buifc",
    lambda t, out, x, y: op.mul(t, _share(x, out, y)),
    lambda t, out, x, y: op.mul(t, _share(y, out, x)),
    is_cheap=True,
)
pow_p = Pow("pow", "stablehlo.power", "ifc", _pow_base, _pow_exponent)
relu_p = Relu("relu", "stablehlo.maximum", "buifc", _relu_tangent, is_cheap=True)
nextafter_p = Elementwise("nextafter", "chlo.next_after", "f", None, None)
