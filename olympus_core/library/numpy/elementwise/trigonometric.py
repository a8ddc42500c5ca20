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
from olympus_core.library.elementwise import Example, binary, inexact, unary
from olympus_core.library.numpy.elementwise.arithmetic import (
    add,
    divide,
    maximum,
    minimum,
    multiply,
    square,
)
from olympus_core.library.numpy.elementwise.logic import equal
from olympus_core.library.operands import choose, scalar_beside
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

sin = inexact(
    "sin",
    "The sine of an angle.",
    sin_p,
    example=("sin(asarray([0.0, 1.0]))", "Array([0.        , 0.84147096], dtype=float32)"),
)
cos = inexact(
    "cos",
    "The cosine of an angle.",
    cos_p,
    example=("cos(asarray([0.0, 1.0]))", "Array([1.       , 0.5403023], dtype=float32)"),
)
tan = inexact(
    "tan",
    "The tangent of an angle.",
    tan_p,
    example=("tan(asarray([0.0, 1.0]))", "Array([0.       , 1.5574077], dtype=float32)"),
)
arcsin = inexact(
    "arcsin",
    "The angle in [-pi/2, pi/2] whose sine is x.",
    asin_p,
    example=(
        "arcsin(asarray([0.0, 1.0, 2.0]))",
        "Array([0.       , 1.5707964,       nan], dtype=float32)",
    ),
)
arccos = inexact(
    "arccos",
    "The angle in [0, pi] whose cosine is x.",
    acos_p,
    example=(
        "arccos(asarray([1.0, 0.0, -1.0]))",
        "Array([0.       , 1.5707964, 3.1415927], dtype=float32)",
    ),
)
arctan = inexact(
    "arctan",
    "The angle in [-pi/2, pi/2] whose tangent is x.",
    atan_p,
    example=(
        "arctan(asarray([0.0, 1.0, inf]))",
        "Array([0.       , 0.7853981, 1.5707964], dtype=float32)",
    ),
)
sinh = inexact(
    "sinh",
    "The hyperbolic sine.",
    sinh_p,
    example=("sinh(asarray([0.0, 1.0]))", "Array([0.       , 1.1752012], dtype=float32)"),
)
cosh = inexact(
    "cosh",
    "The hyperbolic cosine.",
    cosh_p,
    example=("cosh(asarray([0.0, 1.0]))", "Array([1.       , 1.5430806], dtype=float32)"),
)
tanh = inexact(
    "tanh",
    "The hyperbolic tangent.",
    tanh_p,
    example=(
        "tanh(asarray([0.0, 1.0, inf]))",
        "Array([0.       , 0.7615942, 1.       ], dtype=float32)",
    ),
)
arcsinh = inexact(
    "arcsinh",
    "The value whose hyperbolic sine is x.",
    asinh_p,
    example=("arcsinh(asarray([0.0, 1.0]))", "Array([0.        , 0.88137364], dtype=float32)"),
)
arccosh = inexact(
    "arccosh",
    "The value >= 0 whose hyperbolic cosine is x.",
    acosh_p,
    example=(
        "arccosh(asarray([1.0, 2.0, 0.0]))",
        "Array([0.      , 1.316958,      nan], dtype=float32)",
    ),
)
arctanh = inexact(
    "arctanh",
    "The value whose hyperbolic tangent is x.",
    atanh_p,
    example=(
        "arctanh(asarray([0.0, 0.5, 1.0]))",
        "Array([0.        , 0.54930615,        inf], dtype=float32)",
    ),
)
asin, acos, atan = arcsin, arccos, arctan
asinh, acosh, atanh = arcsinh, arccosh, arctanh

arctan2 = binary(
    "arctan2",
    "The angle in [-pi, pi] of the point (y, x); its arguments are y and x in this order.",
    {"fc": atan2_p.bind},
    promote_inexact,
    example=(
        "arctan2(asarray([1.0, 1.0, -1.0]), asarray([1.0, -1.0, -1.0]))",
        "Array([ 0.7853982,  2.3561945, -2.3561945], dtype=float32)",
    ),
)
atan2 = arctan2


def _scaled(
    name: str, summary: str, factor: float, example: Example
) -> Callable[[ArrayLike], Array]:
    rows = {"fc": lambda x: multiply(x, scalar_beside(x, factor))}
    return unary(name, summary, rows, promote_inexact, example=example)


deg2rad = _scaled(
    "deg2rad",
    "Degrees as radians.",
    math.pi / 180,
    ("deg2rad(asarray([90, 180]))", "Array([1.5707964, 3.1415927], dtype=float32)"),
)
rad2deg = _scaled(
    "rad2deg",
    "Radians as degrees.",
    180 / math.pi,
    ("rad2deg(asarray([pi / 2, pi]))", "Array([ 90., 180.], dtype=float32)"),
)
radians, degrees = deg2rad, rad2deg


@composite()
def _hypot(x: Any, y: Any) -> Any:
    """Return sqrt(x**2 + y**2) divided through by the larger leg, so that no square overflows."""
    x, y = abs_p.bind(x), abs_p.bind(y)
    long, short = maximum(x, y), minimum(x, y)
    ratio = divide(short, choose("hypot", equal(long, 0), 1, long))
    leg = multiply(long, sqrt_p.bind(add(square(ratio), 1)))
    infinite = logical_or_inf(x, y)
    return choose("hypot", infinite, scalar_beside(leg, np.inf), leg)


def logical_or_inf(x: Any, y: Any) -> Any:
    return or_p.bind(equal(x, np.inf), equal(y, np.inf))


hypot = binary(
    "hypot",
    "sqrt(x**2 + y**2), the length of a hypotenuse.",
    {"f": _hypot},
    promote_inexact,
    example=(
        "hypot(asarray([3.0, 3e30]), asarray([4.0, 4e30]))",
        "Array([5.e+00, 5.e+30], dtype=float32)",
    ),
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
    is_zero, angle = equal(x, 0), multiply(scalar_beside(x, np.pi), x)
    safe = choose("sinc", is_zero, 1, angle)
    return choose("sinc", is_zero, _at_zero(0, angle), divide(sin_p.bind(safe), safe))


sinc = unary(
    "sinc",
    "sin(pi x) / (pi x), and 1 at 0.",
    {"fc": _sinc},
    promote_inexact,
    example=(
        "sinc(asarray([0.0, 0.5, 1.5]))",
        "Array([ 1.        ,  0.63661975, -0.21220659], dtype=float32)",
    ),
)
