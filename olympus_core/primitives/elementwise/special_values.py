"""The special values of complex functions at infinities, nan and signed zeros.

XLA's results are corrected where they differ from Annex G of the C standard (C99) and from the
array API standard.  XLA multiplies infinities by zeros there, which gives nan, and loses the sign
of a zero.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar, Final

from olympus_core.base import dtypes
from olympus_core.base.avals import ShapedArray
from olympus_core.mlir import bindings as mlir
from olympus_core.primitives.elementwise.base import BOOL, Elementwise, accuracy_attributes
from olympus_core.primitives.elementwise.logic import Compare, emit_compare, eq_p, lt_p, ne_p

if TYPE_CHECKING:
    from olympus_core.lowering.module import LoweringContext


class _Reals:
    """Operations on the parts of complex values, which have one real aval; each emits MLIR."""

    def __init__(self, aval: ShapedArray) -> None:
        self.aval = aval
        self.bools = aval.update(dtype=BOOL)

    def _value(self, x: Any) -> Any:
        return mlir.full(self.aval, x) if isinstance(x, (int, float)) else x

    def op(self, name: str, *operands: Any) -> Any:
        return mlir.op1(f"stablehlo.{name}", self.aval, [self._value(x) for x in operands])

    def _compare(self, comparison: Compare, x: Any, y: Any) -> Any:
        return emit_compare(comparison, self.aval, self._value(x), self._value(y))

    def equal(self, x: Any, y: Any) -> Any:
        return self._compare(eq_p, x, y)

    def is_nan(self, x: Any) -> Any:
        return self._compare(ne_p, x, x)

    def is_finite(self, x: Any) -> Any:
        return mlir.op1("stablehlo.is_finite", self.bools, [x])

    def is_infinite(self, x: Any) -> Any:
        return self.equal(self.op("abs", x), math.inf)

    def either(self, a: Any, b: Any) -> Any:
        return mlir.op1("stablehlo.or", self.bools, [a, b])

    def unless(self, a: Any, b: Any) -> Any:
        """Emit `b and not a`."""
        return mlir.op1(
            "stablehlo.and", self.bools, [mlir.op1("stablehlo.not", self.bools, [a]), b]
        )

    def where(self, condition: Any, x: Any, y: Any) -> Any:
        return mlir.op1("stablehlo.select", self.aval, [condition, self._value(x), self._value(y)])

    def signed(self, magnitude: Any, sign: Any) -> Any:
        """Emit `magnitude`, which is not negative, with the sign of `sign`, also of a zero."""
        negative = self.either(
            self._compare(lt_p, sign, 0), self._compare(lt_p, self.op("divide", 1, sign), 0)
        )
        return self.where(negative, self.op("negate", magnitude), magnitude)


#: (operations, x, y, real part, imaginary part of the value at x + iy) -> the corrected parts
_Mend = Callable[[_Reals, Any, Any, Any, Any], tuple[Any, Any]]


def _exp(r: _Reals, x: Any, y: Any, re: Any, im: Any) -> tuple[Any, Any]:
    finite = r.is_finite(y)
    high, low = (r.unless(finite, r.equal(x, bound)) for bound in (math.inf, -math.inf))
    re = r.where(high, math.inf, r.where(low, 0, re))
    return re, r.where(low, 0, r.where(r.equal(y, 0), y, im))


def _expm1(r: _Reals, x: Any, y: Any, re: Any, im: Any) -> tuple[Any, Any]:
    return re, r.where(r.equal(y, 0), y, im)


def _log(r: _Reals, x: Any, y: Any, re: Any, im: Any) -> tuple[Any, Any]:
    return r.where(r.either(r.is_infinite(x), r.is_infinite(y)), math.inf, re), im


def _flat(r: _Reals, x: Any, y: Any, factor: str) -> Any:
    """Emit x * sin(y) or x * cos(y) for an x of 0: a zero, also where y is nan."""
    return r.op("multiply", x, r.where(r.is_finite(y), r.op(factor, y), 1))


def _cosh(r: _Reals, x: Any, y: Any, re: Any, im: Any) -> tuple[Any, Any]:
    beside = r.where(r.is_nan(x), y, r.op("multiply", r.op("sign", x), y))
    im = r.where(r.equal(x, 0), _flat(r, x, y, "sine"), im)
    im = r.where(r.equal(y, 0), beside, im)
    return r.where(r.unless(r.is_finite(y), r.is_infinite(x)), math.inf, re), im


def _sinh(r: _Reals, x: Any, y: Any, re: Any, im: Any) -> tuple[Any, Any]:
    re = r.where(r.equal(x, 0), _flat(r, x, y, "cosine"), re)
    re = r.where(r.unless(r.is_finite(y), r.is_infinite(x)), math.inf, re)
    return re, r.where(r.equal(y, 0), y, im)


def _tanh(r: _Reals, x: Any, y: Any, re: Any, im: Any) -> tuple[Any, Any]:
    return r.where(r.equal(x, 0), x, re), r.where(r.equal(y, 0), y, im)


def _atanh(r: _Reals, x: Any, y: Any, re: Any, im: Any) -> tuple[Any, Any]:
    infinite = r.either(r.is_infinite(x), r.is_infinite(y))
    neither = r.either(r.is_nan(x), r.is_nan(y))
    re = r.where(infinite, r.where(r.is_nan(x), 0, r.signed(0, x)), r.where(neither, math.nan, re))
    im = r.where(infinite, r.signed(math.pi / 2, y), im)
    im = r.where(r.is_nan(y), math.nan, r.where(r.unless(infinite, neither), math.nan, im))
    return r.where(r.equal(x, 0), x, re), im


def _sqrt(r: _Reals, x: Any, y: Any, re: Any, im: Any) -> tuple[Any, Any]:
    low = r.equal(x, -math.inf)
    re = r.where(r.unless(low, r.is_infinite(x)), math.inf, re)
    re = r.where(r.unless(r.is_finite(y), low), math.nan, re)
    im = r.where(low, r.where(r.is_nan(y), math.inf, r.signed(math.inf, y)), im)
    im = r.where(r.equal(y, 0), r.signed(r.op("abs", im), y), im)
    infinite = r.is_infinite(y)
    return r.where(infinite, math.inf, re), r.where(infinite, y, im)


def _asinh(r: _Reals, x: Any, y: Any, re: Any, im: Any) -> tuple[Any, Any]:
    re = r.where(r.equal(x, 0), r.signed(r.op("abs", re), x), re)
    return re, r.where(r.equal(y, 0), y, im)


def _acosh(r: _Reals, x: Any, y: Any, re: Any, im: Any) -> tuple[Any, Any]:
    im = r.where(r.equal(y, 0), r.signed(r.op("abs", im), y), im)
    return re, r.where(r.unless(r.equal(y, y), r.equal(x, 0)), math.pi / 2, im)


def _acos(r: _Reals, x: Any, y: Any, re: Any, im: Any) -> tuple[Any, Any]:
    re = r.where(r.unless(r.equal(y, y), r.equal(x, 0)), math.pi / 2, re)
    return re, r.where(r.equal(y, 0), r.signed(r.op("abs", im), r.op("negate", y)), im)


def _turned(mend: _Mend) -> _Mend:
    """Return the rule of f with f(z) = -i g(iz), from the rule of g."""

    def turned(r: _Reals, x: Any, y: Any, re: Any, im: Any) -> tuple[Any, Any]:
        a, b = mend(r, r.op("negate", y), x, r.op("negate", im), re)
        return b, r.op("negate", a)

    return turned


def _cos(r: _Reals, x: Any, y: Any, re: Any, im: Any) -> tuple[Any, Any]:
    return _cosh(r, r.op("negate", y), x, re, im)  # cos(z) = cosh(iz)


_MENDS: Final[dict[str, _Mend]] = {
    "acos": _acos,
    "acosh": _acosh,
    "asin": _turned(_asinh),
    "asinh": _asinh,
    "atan": _turned(_atanh),
    "atanh": _atanh,
    "cos": _cos,
    "cosh": _cosh,
    "exp": _exp,
    "expm1": _expm1,
    "log": _log,
    "log1p": _log,
    "sin": _turned(_sinh),
    "sinh": _sinh,
    "sqrt": _sqrt,
    "tan": _turned(_tanh),
    "tanh": _tanh,
}


class Mended(Elementwise):
    """A function of one operand that has the special values of C99 for complex operands."""

    complex_is_one_operation: ClassVar[bool] = False

    def lower(self, ctx: LoweringContext, *operands: Any, **params: Any) -> Any:
        if not params.get("is_corrected", True):
            return self.lower_uncorrected(ctx, *operands, **params)
        out = ctx.aval_out
        full = ctx.full(operands[0], ctx.avals_in[0], out.shape)
        return self.emit(out, full, accuracy_attributes(params))

    def emit(self, aval: ShapedArray, x: Any, attributes: dict[str, Any] | None = None) -> Any:
        """Emit the function of `x`; operand and result have type `aval`."""
        value = mlir.op1(self.op, aval, (x,), attributes)
        return _mended(self.name, aval, x, value) if dtypes.kind(aval.dtype) == "c" else value


def _mended(name: str, aval: ShapedArray, z: Any, value: Any) -> Any:
    reals = aval.update(dtype=dtypes.to_real(aval.dtype))
    parts = [
        mlir.op1(f"stablehlo.{part}", reals, [v]) for v in (z, value) for part in ("real", "imag")
    ]
    return mlir.op1("stablehlo.complex", aval, _MENDS[name](_Reals(reals), *parts))


def infinite_beside_nan(aval: ShapedArray, z: Any, magnitude: Any) -> Any:
    """Emit the magnitude of the complex `z`, inf if either part is infinite, even beside a nan."""
    x, y = (mlir.op1(f"stablehlo.{part}", aval, [z]) for part in ("real", "imag"))
    return _log(_Reals(aval), x, y, magnitude, None)[0]
