"""Trigonometric and hyperbolic functions, in radians; integers become floats."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from olympus_core.control.custom_jvp import custom_jvp
from olympus_core.ir.tracer import Array
from olympus_core.ir.typing import ArrayLike
from olympus_core.library.composite import composite
from olympus_core.library.elementwise import binary, inexact, unary
from olympus_core.library.numpy.elementwise.arithmetic import (
    add,
    divide,
    maximum,
    minimum,
    multiply,
    square,
)
from olympus_core.library.numpy.elementwise.logic import equal
from olympus_core.library.operands import choose
from olympus_core.library.promotion import promote_inexact
from olympus_core.primitives.elementwise.arithmetic import abs_p, sqrt_p
from olympus_core.primitives.elementwise.logic import or_p
from olympus_core.primitives.elementwise.transcendental import (
    acos_p,
    acosh_p,
    asin_p,
    asinh_p,
    atan2_p,
    atan_p,
    atanh_p,
    cos_p,
    cosh_p,
    sin_p,
    sinh_p,
    tan_p,
    tanh_p,
)

sin = inexact("sin", "The sine of an angle.", sin_p)
cos = inexact("cos", "The cosine of an angle.", cos_p)
tan = inexact("tan", "The tangent of an angle.", tan_p)
arcsin = inexact("arcsin", "The angle in [-pi/2, pi/2] whose sine is x.", asin_p)
arccos = inexact("arccos", "The angle in [0, pi] whose cosine is x.", acos_p)
arctan = inexact("arctan", "The angle in [-pi/2, pi/2] whose tangent is x.", atan_p)
sinh = inexact("sinh", "The hyperbolic sine.", sinh_p)
cosh = inexact("cosh", "The hyperbolic cosine.", cosh_p)
tanh = inexact("tanh", "The hyperbolic tangent.", tanh_p)
arcsinh = inexact("arcsinh", "The value whose hyperbolic sine is x.", asinh_p)
arccosh = inexact("arccosh", "The value >= 0 whose hyperbolic cosine is x.", acosh_p)
arctanh = inexact("arctanh", "The value whose hyperbolic tangent is x.", atanh_p)
asin, acos, atan = arcsin, arccos, arctan
asinh, acosh, atanh = arcsinh, arccosh, arctanh

arctan2 = binary(
    "arctan2",
    "The angle in [-pi, pi] of the point (y, x); its arguments are y and x in this order.",
    {"fc": atan2_p.bind},
    promote_inexact,
)
atan2 = arctan2


def _scaled(name: str, summary: str, factor: float) -> Callable[[ArrayLike], Array]:
    return unary(name, summary, {"fc": lambda x: multiply(x, factor)}, promote_inexact)


deg2rad = _scaled("deg2rad", "Degrees as radians.", math.pi / 180)
rad2deg = _scaled("rad2deg", "Radians as degrees.", 180 / math.pi)
radians, degrees = deg2rad, rad2deg


@composite()
def _hypot(x: Any, y: Any) -> Any:
    """Return sqrt(x**2 + y**2) divided through by the larger leg, so that no square overflows."""
    x, y = abs_p.bind(x), abs_p.bind(y)
    long, short = maximum(x, y), minimum(x, y)
    ratio = divide(short, choose("hypot", equal(long, 0), 1, long))
    leg = multiply(long, sqrt_p.bind(add(square(ratio), 1)))
    infinite = logical_or_inf(x, y)
    return choose("hypot", infinite, np.inf, leg)


def logical_or_inf(x: Any, y: Any) -> Any:
    return or_p.bind(equal(x, np.inf), equal(y, np.inf))


hypot = binary(
    "hypot",
    "sqrt(x**2 + y**2), the length of a hypotenuse.",
    {"f": _hypot},
    promote_inexact,
)


@partial(custom_jvp, nondiff_argnums=(0,))
def _at_zero(k: int, x: Any) -> Any:
    """Return the derivative of order k of sin(x) / x at 0; its slope is the next derivative."""
    value = 0.0 if k % 2 else (-1) ** (k // 2) / (k + 1)
    return add(multiply(x, 0), value)


@_at_zero.defjvp
def _at_zero_rule(k: int, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]:
    (x,), (t,) = primals, tangents
    return _at_zero(k, x), multiply(_at_zero(k + 1, x), t)


@composite()
def _sinc(x: Any) -> Any:
    is_zero, angle = equal(x, 0), multiply(np.pi, x)
    safe = choose("sinc", is_zero, 1, angle)
    return choose("sinc", is_zero, _at_zero(0, angle), divide(sin_p.bind(safe), safe))


sinc = unary("sinc", "sin(pi x) / (pi x), and 1 at 0.", {"fc": _sinc}, promote_inexact)
