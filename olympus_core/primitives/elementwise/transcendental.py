"""Exponentials, logarithms, trigonometric, hyperbolic and special functions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from olympus_core.base import dtypes
from olympus_core.ir.primitive import op
from olympus_core.mlir import bindings as mlir
from olympus_core.primitives.elementwise.base import (
    Elementwise,
    accuracy_attributes,
    elementwise_constant,
    one_minus,
    one_plus,
    times,
)
from olympus_core.primitives.elementwise.special_values import Mended

if TYPE_CHECKING:
    from olympus_core.lowering.module import LoweringContext


class Exp2(Elementwise):
    """2 ** x, as exp(x * log 2); a complex x is scaled by parts, as 0 * inf is nan."""

    is_one_operation: ClassVar[bool] = False

    def lower(self, ctx: LoweringContext, *operands: Any, **params: Any) -> Any:
        out = ctx.aval_out
        full = ctx.full(operands[0], ctx.avals_in[0], out.shape)
        real = out.update(dtype=dtypes.to_real(out.dtype))
        log2, accuracy = mlir.full(real, np.log(2.0)), accuracy_attributes(params)
        if real == out:
            return exp_p.emit(out, mlir.op1("stablehlo.multiply", out, (full, log2)), accuracy)
        parts = (mlir.op1(f"stablehlo.{part}", real, (full,)) for part in ("real", "imag"))
        scaled = [mlir.op1("stablehlo.multiply", real, (part, log2)) for part in parts]
        return exp_p.emit(out, mlir.op1("stablehlo.complex", out, scaled), accuracy)


def _hypotenuse(x: Any, y: Any) -> Any:
    return op.add(op.square(x), op.square(y))


_M_2_SQRTPI = 2 / np.sqrt(np.pi)
exp_p = Mended("exp", "stablehlo.exponential", "fc", lambda t, out, x: op.mul(t, out))
exp2_p = Exp2("exp2", "stablehlo.exponential", "fc", lambda t, out, x: times(t, np.log(2.0), out))
expm1_p = Mended(
    "expm1",
    "stablehlo.exponential_minus_one",
    "fc",
    lambda t, out, x: op.mul(t, one_plus(out)),
)
log_p = Mended("log", "stablehlo.log", "fc", lambda t, out, x: op.div(t, x))
log1p_p = Mended("log1p", "stablehlo.log_plus_one", "fc", lambda t, out, x: op.div(t, one_plus(x)))
sin_p = Mended("sin", "stablehlo.sine", "fc", lambda t, out, x: op.mul(t, op.cos(x)))
cos_p = Mended("cos", "stablehlo.cosine", "fc", lambda t, out, x: op.neg(op.mul(t, op.sin(x))))
tan_p = Mended(
    "tan",
    "stablehlo.tan",
    "fc",
    lambda t, out, x: op.mul(t, one_plus(op.square(out))),
    synonym="chlo.tan",
)
asin_p = Mended(
    "asin", "chlo.asin", "fc", lambda t, out, x: op.mul(t, op.rsqrt(one_minus(op.square(x))))
)
acos_p = Mended(
    "acos",
    "chlo.acos",
    "fc",
    lambda t, out, x: op.mul(t, op.neg(op.rsqrt(one_minus(op.square(x))))),
)
atan_p = Mended("atan", "chlo.atan", "fc", lambda t, out, x: op.div(t, one_plus(op.square(x))))
sinh_p = Mended("sinh", "chlo.sinh", "fc", lambda t, out, x: op.mul(t, op.cosh(x)))
cosh_p = Mended("cosh", "chlo.cosh", "fc", lambda t, out, x: op.mul(t, op.sinh(x)))
tanh_p = Mended(
    "tanh", "stablehlo.tanh", "fc", lambda t, out, x: op.mul(t, one_minus(op.square(out)))
)
asinh_p = Mended(
    "asinh", "chlo.asinh", "fc", lambda t, out, x: op.mul(t, op.rsqrt(one_plus(op.square(x))))
)
acosh_p = Mended(
    "acosh",
    "chlo.acosh",
    "fc",
    lambda t, out, x: op.mul(
        t, op.mul(op.rsqrt(op.sub(x, elementwise_constant(x, 1))), op.rsqrt(one_plus(x)))
    ),
)
atanh_p = Mended("atanh", "chlo.atanh", "fc", lambda t, out, x: op.div(t, one_minus(op.square(x))))
logistic_p = Elementwise(
    "logistic", "stablehlo.logistic", "fc", lambda t, out, x: op.mul(t, op.mul(out, one_minus(out)))
)
erf_p = Elementwise(
    "erf",
    "chlo.erf",
    "f",
    lambda t, out, x: times(t, _M_2_SQRTPI, op.exp(op.neg(op.square(x)))),
)
erfc_p = Elementwise(
    "erfc",
    "chlo.erfc",
    "f",
    lambda t, out, x: times(t, -_M_2_SQRTPI, op.exp(op.neg(op.square(x)))),
)
erf_inv_p = Elementwise(
    "erf_inv",
    "chlo.erf_inv",
    "f",
    lambda t, out, x: times(t, 1 / _M_2_SQRTPI, op.exp(op.square(out))),
)
lgamma_p = Elementwise("lgamma", "chlo.lgamma", "f", lambda t, out, x: op.mul(t, op.digamma(x)))
digamma_p = Elementwise(
    "digamma",
    "chlo.digamma",
    "f",
    lambda t, out, x: op.mul(t, op.polygamma(elementwise_constant(x, 1), x)),
)
polygamma_p = Elementwise(
    "polygamma",
    "chlo.polygamma",
    "f",
    None,
    lambda t, out, m, x: op.mul(t, op.polygamma(one_plus(m), x)),
)
zeta_p = Elementwise(
    "zeta",
    "chlo.zeta",
    "f",
    None,
    lambda t, out, s, q: op.mul(t, op.mul(op.neg(s), op.zeta(one_plus(s), q))),
)
#: exp(-|x|) I1(x) as StableHLO's operation; `lax.bessel_i1e` is an expansion, which has derivatives
bessel_i1e_p = Elementwise("bessel_i1e", "chlo.bessel_i1e", "f", None)
atan2_p = Elementwise(
    "atan2",
    "stablehlo.atan2",
    "fc",
    lambda t, out, x, y: op.mul(t, op.div(y, _hypotenuse(x, y))),
    lambda t, out, x, y: op.mul(t, op.neg(op.div(x, _hypotenuse(x, y)))),
)
