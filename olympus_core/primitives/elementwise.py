"""Elementwise primitives: a value of each operand in, a value of the result out.

Operands have one shape and one dtype; a rank-0 operand stands for one of that shape, so that
`2.0 * x` needs no broadcast in the IR.  Most primitives are a row of a table: name, StableHLO
operation, and the kinds of dtype they take (see `dtypes.kind`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from olympus_core import dtypes, mlir
from olympus_core.avals import Shape, ShapedArray, shaped
from olympus_core.dtypes import DType
from olympus_core.errors import DTypeError, ShapeError
from olympus_core.olympuspr import Literal
from olympus_core.primitive import Primitive

if TYPE_CHECKING:
    from olympus_core.lowering import LoweringContext

BOOL = np.dtype("bool")
_KINDS = {"b": "bool", "u": "unsigned integer", "i": "integer", "f": "float", "c": "complex"}


def kinds_text(kinds: str) -> str:
    """The kinds of a table's row in words, for messages."""
    return ", ".join(_KINDS[k] for k in kinds)


def join_shapes(name: str, avals: tuple[ShapedArray, ...]) -> Shape:
    """The one shape that operands have, rank-0 ones aside; raises ShapeError if they differ."""
    shapes = {a.shape for a in avals if a.shape}
    if len(shapes) > 1:
        text = ", ".join(a.short_name() for a in avals)
        raise ShapeError(f"{name} needs operands of one shape, and got {text}")
    return next(iter(shapes), ())


def check_kinds(name: str, kinds: str, *avals: ShapedArray) -> None:
    """Raise DTypeError unless every aval's dtype is of one of the kinds."""
    for aval in avals:
        if dtypes.kind(aval.dtype) not in kinds:
            raise DTypeError(f"{name} takes {kinds_text(kinds)} arrays, and got {aval.long_name()}")


def check_one_dtype(name: str, avals: tuple[ShapedArray, ...]) -> None:
    """Raise DTypeError unless all avals have one dtype."""
    if len({a.dtype for a in avals}) > 1:
        text = ", ".join(a.short_name() for a in avals)
        raise DTypeError(f"{name} needs operands of one dtype, and got {text}")


class Elementwise(Primitive):
    """An elementwise primitive that is one operation of StableHLO or CHLO."""

    takes_literals: ClassVar[bool] = True

    def __init__(
        self, name: str, op: str, kinds: str, result: Callable[[DType], DType] | None = None
    ) -> None:
        super().__init__(name)
        self.op = op
        self.kinds = kinds
        self.result = result

    def abstract(self, *avals: ShapedArray, **params: Any) -> ShapedArray:
        check_one_dtype(self.name, avals)
        check_kinds(self.name, self.kinds, avals[0])
        dtype = self.result(avals[0].dtype) if self.result else avals[0].dtype
        weak = all(a.weak_type for a in avals) and dtype != BOOL
        return shaped(join_shapes(self.name, avals), dtype, weak)

    def attributes(self, aval: ShapedArray) -> dict[str, Any] | None:
        """The attributes of the operation, given the operands' aval."""
        return None

    def lower(self, ctx: LoweringContext, *operands: Any, **params: Any) -> Any:
        out = ctx.aval_out
        full = [
            x if x.__class__ is not Literal and a.shape == out.shape else ctx.full(x, a, out.shape)
            for x, a in zip(operands, ctx.avals_in, strict=True)
        ]
        return mlir.op1(self.op, out, full, self.attributes(ctx.avals_in[0]))


class Compare(Elementwise):
    """A comparison: bool out; `direction` is StableHLO's."""

    def __init__(self, name: str, direction: str, kinds: str = "buifc") -> None:
        super().__init__(name, "stablehlo.compare", kinds, lambda _: BOOL)
        self.direction = direction

    def attributes(self, aval: ShapedArray) -> dict[str, Any]:
        kind = dtypes.kind(aval.dtype)
        how = "FLOAT" if kind in "fc" else "SIGNED" if kind == "i" else "UNSIGNED"
        return {
            "comparison_direction": mlir.parsed_attr(
                f"#stablehlo<comparison_direction {self.direction}>"
            ),
            "compare_type": mlir.parsed_attr(f"#stablehlo<comparison_type {how}>"),
        }


class Sign(Elementwise):
    """-1, 0 or 1; StableHLO has none for unsigned integers."""

    def lower(self, ctx: LoweringContext, *operands: Any, **params: Any) -> Any:
        if dtypes.kind(ctx.aval_out.dtype) != "u":
            return super().lower(ctx, *operands, **params)
        out = ctx.aval_out
        full = ctx.full(operands[0], ctx.avals_in[0], out.shape)
        return mlir.op1("stablehlo.minimum", out, (full, mlir.full(out, 1)))


class Abs(Elementwise):
    """The magnitude; of an unsigned integer, itself."""

    def lower(self, ctx: LoweringContext, *operands: Any, **params: Any) -> Any:
        if dtypes.kind(ctx.avals_in[0].dtype) == "u":
            return ctx.full(operands[0], ctx.avals_in[0], ctx.aval_out.shape)
        return super().lower(ctx, *operands, **params)


class Round(Elementwise):
    """To the nearest integer; `rounding_method` 0 sends halves away from zero, 1 to even."""

    def lower(self, ctx: LoweringContext, *operands: Any, **params: Any) -> Any:
        name = "even" if params["rounding_method"] == 1 else "afz"
        full = ctx.full(operands[0], ctx.avals_in[0], ctx.aval_out.shape)
        return mlir.op1(f"stablehlo.round_nearest_{name}", ctx.aval_out, (full,))


class Exp2(Elementwise):
    """2 ** x, as exp(x * log 2)."""

    def lower(self, ctx: LoweringContext, *operands: Any, **params: Any) -> Any:
        out = ctx.aval_out
        full = ctx.full(operands[0], ctx.avals_in[0], out.shape)
        log2 = mlir.full(out, np.log(2.0))
        return mlir.op1("stablehlo.exponential", out, (mlir.op1("stablehlo.multiply", out, (full, log2)),))


class IntegerPow(Elementwise):
    """x ** y for a Python int y, by repeated squaring."""

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
    """x ** y; the exponent may be of an integer dtype where the base is not."""

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
        if ctx.avals_in[1].dtype != out.dtype:
            y = mlir.op1("stablehlo.convert", out, (y,))
        return mlir.op1("stablehlo.power", out, (x, y))


class SelectN(Primitive):
    """`cases[which]` element by element; `which` is bool for two cases, or int32."""

    takes_literals: ClassVar[bool] = True

    def abstract(self, *avals: ShapedArray, **params: Any) -> ShapedArray:
        which, *cases = avals
        check_one_dtype("select_n", tuple(cases))
        shape = join_shapes("select_n", tuple(cases))
        if which.shape not in ((), shape):
            raise ShapeError(
                f"select_n needs a predicate of shape () or {shape}, and got {which.short_name()}"
            )
        if which.dtype not in (BOOL, np.dtype("int32")) or (which.dtype == BOOL and len(cases) > 2):
            raise DTypeError(f"select_n cannot choose of {len(cases)} by {which.long_name()}")
        return shaped(shape, cases[0].dtype, all(c.weak_type for c in cases))

    def lower(self, ctx: LoweringContext, *operands: Any, **params: Any) -> Any:
        out = ctx.aval_out
        which = ctx.full(operands[0], ctx.avals_in[0], ctx.avals_in[0].shape)
        cases = [
            ctx.full(x, a, out.shape) for x, a in zip(operands[1:], ctx.avals_in[1:], strict=True)
        ]
        return self._choose(out, ctx.avals_in[0], which, cases, 0)

    def _choose(
        self, out: ShapedArray, aval: ShapedArray, which: Any, cases: list[Any], first: int
    ) -> Any:
        if len(cases) == 1:
            return cases[0]
        if aval.dtype == BOOL:
            return mlir.op1("stablehlo.select", out, (which, cases[1], cases[0]))
        half = len(cases) // 2
        low = self._choose(out, aval, which, cases[:half], first)
        high = self._choose(out, aval, which, cases[half:], first + half)
        bound = mlir.full(aval, first + half)
        attributes = lt_p.attributes(aval)
        is_low = mlir.op1(
            "stablehlo.compare", aval.update(dtype=BOOL, weak_type=False), (which, bound), attributes
        )
        return mlir.op1("stablehlo.select", out, (is_low, low, high))


class Clamp(Primitive):
    """min(max(lo, x), hi); the bounds have x's shape or none."""

    takes_literals: ClassVar[bool] = True

    def abstract(self, *avals: ShapedArray, **params: Any) -> ShapedArray:
        low, x, high = avals
        check_one_dtype("clamp", avals)
        for bound in (low, high):
            if bound.shape not in ((), x.shape):
                raise ShapeError(
                    f"clamp needs bounds of shape () or {x.shape}, and got {bound.short_name()}"
                )
        return x

    def lower(self, ctx: LoweringContext, *operands: Any, **params: Any) -> Any:
        shapes = [a.shape for a in ctx.avals_in]
        full = [ctx.full(*x) for x in zip(operands, ctx.avals_in, shapes, strict=True)]
        return mlir.op1("stablehlo.clamp", ctx.aval_out, full)


class Convert(Primitive):
    """To `new_dtype`; a complex value loses its imaginary part, a bool becomes 0 or 1."""

    takes_literals: ClassVar[bool] = True

    def abstract(self, *avals: ShapedArray, **params: Any) -> ShapedArray:
        return shaped(avals[0].shape, params["new_dtype"], params["weak_type"])

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


class BitcastConvert(Primitive):
    """The same bits as another dtype; a change of width adds or removes the last axis."""

    def abstract(self, *avals: ShapedArray, **params: Any) -> ShapedArray:
        (x,), new = avals, params["new_dtype"]
        old_bits, new_bits = bit_width(x.dtype), bit_width(new)
        if old_bits == new_bits:
            return shaped(x.shape, new)
        if old_bits > new_bits:
            return shaped((*x.shape, old_bits // new_bits), new)
        if not x.shape or x.shape[-1] * old_bits != new_bits:
            raise ShapeError(
                f"bitcast of {x.short_name()} to {dtypes.long_name(new)} needs a last dimension "
                f"of {new_bits // old_bits}"
            )
        return shaped(x.shape[:-1], new)

    def lower(self, ctx: LoweringContext, *operands: Any, **params: Any) -> Any:
        return mlir.op1("stablehlo.bitcast_convert", ctx.aval_out, operands)


def bit_width(dt: DType) -> int:
    """The bits an element has: 4 for int4, 1 for bool."""
    if dt == BOOL:
        return 1
    kind = dtypes.kind(dt)
    if kind in "iu":
        return int(dtypes.iinfo(dt).bits)
    return int(dtypes.finfo(dt).bits) if kind == "f" else dt.itemsize * 8


class ReducePrecision(Elementwise):
    """Round to a float of `exponent_bits` and `mantissa_bits`, kept in the same dtype."""

    def lower(self, ctx: LoweringContext, *operands: Any, **params: Any) -> Any:
        x = ctx.full(operands[0], ctx.avals_in[0], ctx.aval_out.shape)
        attributes = {name: mlir.i32_attr(params[name]) for name in sorted(params)}
        return mlir.op1("stablehlo.reduce_precision", ctx.aval_out, (x,), attributes)


neg_p = Elementwise("neg", "stablehlo.negate", "uifc")
sign_p = Sign("sign", "stablehlo.sign", "uifc")
floor_p = Elementwise("floor", "stablehlo.floor", "f")
ceil_p = Elementwise("ceil", "stablehlo.ceil", "f")
round_p = Round("round", "stablehlo.round_nearest_afz", "f")
is_finite_p = Elementwise("is_finite", "stablehlo.is_finite", "f", lambda _: BOOL)
exp_p = Elementwise("exp", "stablehlo.exponential", "fc")
exp2_p = Exp2("exp2", "stablehlo.exponential", "fc")
expm1_p = Elementwise("expm1", "stablehlo.exponential_minus_one", "fc")
log_p = Elementwise("log", "stablehlo.log", "fc")
log1p_p = Elementwise("log1p", "stablehlo.log_plus_one", "fc")
sin_p = Elementwise("sin", "stablehlo.sine", "fc")
cos_p = Elementwise("cos", "stablehlo.cosine", "fc")
tan_p = Elementwise("tan", "stablehlo.tan", "fc")
asin_p = Elementwise("asin", "chlo.asin", "fc")
acos_p = Elementwise("acos", "chlo.acos", "fc")
atan_p = Elementwise("atan", "chlo.atan", "fc")
sinh_p = Elementwise("sinh", "chlo.sinh", "fc")
cosh_p = Elementwise("cosh", "chlo.cosh", "fc")
tanh_p = Elementwise("tanh", "stablehlo.tanh", "fc")
asinh_p = Elementwise("asinh", "chlo.asinh", "fc")
acosh_p = Elementwise("acosh", "chlo.acosh", "fc")
atanh_p = Elementwise("atanh", "chlo.atanh", "fc")
logistic_p = Elementwise("logistic", "stablehlo.logistic", "fc")
sqrt_p = Elementwise("sqrt", "stablehlo.sqrt", "fc")
rsqrt_p = Elementwise("rsqrt", "stablehlo.rsqrt", "fc")
cbrt_p = Elementwise("cbrt", "stablehlo.cbrt", "f")
abs_p = Abs("abs", "stablehlo.abs", "uifc", dtypes.to_real)
not_p = Elementwise("not", "stablehlo.not", "bui")
real_p = Elementwise("real", "stablehlo.real", "c", dtypes.to_real)
imag_p = Elementwise("imag", "stablehlo.imag", "c", dtypes.to_real)
conj_p = Elementwise("conj", "chlo.conj", "c")
population_count_p = Elementwise("population_count", "stablehlo.popcnt", "ui")
clz_p = Elementwise("clz", "stablehlo.count_leading_zeros", "ui")
erf_p = Elementwise("erf", "chlo.erf", "f")
erfc_p = Elementwise("erfc", "chlo.erfc", "f")
erf_inv_p = Elementwise("erf_inv", "chlo.erf_inv", "f")
lgamma_p = Elementwise("lgamma", "chlo.lgamma", "f")
digamma_p = Elementwise("digamma", "chlo.digamma", "f")
integer_pow_p = IntegerPow("integer_pow", "stablehlo.multiply", "uifc")
reduce_precision_p = ReducePrecision("reduce_precision", "stablehlo.reduce_precision", "f")

add_p = Elementwise("add", "stablehlo.add", "buifc")
sub_p = Elementwise("sub", "stablehlo.subtract", "uifc")
mul_p = Elementwise("mul", "stablehlo.multiply", "buifc")
div_p = Elementwise("div", "stablehlo.divide", "uifc")
rem_p = Elementwise("rem", "stablehlo.remainder", "uif")
max_p = Elementwise("max", "stablehlo.maximum", "buifc")
min_p = Elementwise("min", "stablehlo.minimum", "buifc")
pow_p = Pow("pow", "stablehlo.power", "ifc")
atan2_p = Elementwise("atan2", "stablehlo.atan2", "fc")
nextafter_p = Elementwise("nextafter", "chlo.next_after", "f")
complex_p = Elementwise("complex", "stablehlo.complex", "f", dtypes.to_complex)
and_p = Elementwise("and", "stablehlo.and", "bui")
or_p = Elementwise("or", "stablehlo.or", "bui")
xor_p = Elementwise("xor", "stablehlo.xor", "bui")
shift_left_p = Elementwise("shift_left", "stablehlo.shift_left", "ui")
shift_right_arithmetic_p = Elementwise(
    "shift_right_arithmetic", "stablehlo.shift_right_arithmetic", "ui"
)
shift_right_logical_p = Elementwise("shift_right_logical", "stablehlo.shift_right_logical", "ui")
eq_p = Compare("eq", "EQ")
ne_p = Compare("ne", "NE")
lt_p = Compare("lt", "LT", "buif")
le_p = Compare("le", "LE", "buif")
gt_p = Compare("gt", "GT", "buif")
ge_p = Compare("ge", "GE", "buif")

select_n_p = SelectN("select_n")
clamp_p = Clamp("clamp")
convert_element_type_p = Convert("convert_element_type")
bitcast_convert_type_p = BitcastConvert("bitcast_convert_type")

PRIMITIVES: tuple[Primitive, ...] = tuple(
    value for value in list(globals().values()) if isinstance(value, Primitive)
)
