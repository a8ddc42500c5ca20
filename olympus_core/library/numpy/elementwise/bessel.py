"""The modified Bessel functions of orders 0 and 1, also scaled by exp(-|x|)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from olympus_core.base import dtypes
from olympus_core.base.avals import get_aval
from olympus_core.control.custom_jvp import custom_jvp
from olympus_core.ir.tracer import Array
from olympus_core.ir.typing import ArrayLike
from olympus_core.library.chebyshev import series
from olympus_core.library.composite import composite
from olympus_core.library.elementwise import Example, unary
from olympus_core.library.numpy.elementwise import bessel_tables as tables
from olympus_core.library.numpy.elementwise.arithmetic import abs as abs_
from olympus_core.library.numpy.elementwise.logic import less_equal
from olympus_core.library.operands import choose
from olympus_core.library.promotion import promote_inexact
from olympus_core.primitives.elementwise.arithmetic import rsqrt_p, sign_p
from olympus_core.primitives.elementwise.transcendental import exp_p

_BORDER = 8.0  # up to here the expansion is in x, above it in 1 / x
_SERIES = ((tables.I0_NEAR, tables.I0_FAR), (tables.I1_NEAR, tables.I1_FAR))


def _expanded(x: Any, order: int) -> Array:
    """Return exp(-|x|) I(x)."""
    size = abs_(x)
    near, far = _SERIES[order]
    inside = less_equal(size, _BORDER)
    small, large = choose("i0", inside, size, 0.0), choose("i0", inside, _BORDER, size)
    first = series(near, small * (2 / _BORDER) - 1)
    value = choose(
        "i0",
        inside,
        first * small if order else first,
        series(far, 2 * _BORDER / large - 1) * rsqrt_p.bind(large),
    )
    return value * sign_p.bind(x) if order else value


def _over(x: Any, value: Any) -> Any:
    """Return the odd function `value` of x divided by x, which is 1/2 at 0."""
    tiny = abs_(x) <= float(dtypes.finfo(get_aval(x).dtype).eps)
    return choose("i1", tiny, 0.5, value / choose("i1", tiny, 1.0, x))


@custom_jvp
def scaled_i0(x: ArrayLike) -> Array:
    """Return exp(-|x|) I0(x) of a float array."""
    return _expanded(x, 0)


@custom_jvp
def scaled_i1(x: ArrayLike) -> Array:
    """Return exp(-|x|) I1(x) of a float array."""
    return _expanded(x, 1)


@custom_jvp
def _i0(x: Any) -> Any:
    return exp_p.bind(abs_(x)) * _expanded(x, 0)


@custom_jvp
def _i1(x: Any) -> Any:
    return exp_p.bind(abs_(x)) * _expanded(x, 1)


@scaled_i0.defjvp
def _scaled_i0_rule(primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]:
    (x,), (t,) = primals, tangents
    out = scaled_i0(x)
    return out, t * (scaled_i1(x) - sign_p.bind(x) * out)


@scaled_i1.defjvp
def _scaled_i1_rule(primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]:
    (x,), (t,) = primals, tangents
    out = scaled_i1(x)
    return out, t * (scaled_i0(x) - sign_p.bind(x) * out - _over(x, out))


@_i0.defjvp
def _i0_rule(primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]:
    return _i0(*primals), tangents[0] * _i1(*primals)


@_i1.defjvp
def _i1_rule(primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]:
    out = _i1(*primals)
    return out, tangents[0] * (_i0(*primals) - _over(primals[0], out))


def _bessel_function(
    name: str, summary: str, operation: Any, example: Example | None = None
) -> Callable[[ArrayLike], Array]:
    return unary(name, summary, {"f": composite()(operation)}, promote_inexact, example=example)


i0 = _bessel_function(
    "i0",
    "The modified Bessel function I0.",
    _i0,
    ("i0(asarray([0.0, 1.0]))", "Array([1.       , 1.2660658], dtype=float32)"),
)
i1 = _bessel_function("i1", "The modified Bessel function I1.", _i1)
i0e = _bessel_function("i0e", "exp(-|x|) times the modified Bessel function I0.", scaled_i0)
i1e = _bessel_function("i1e", "exp(-|x|) times the modified Bessel function I1.", scaled_i1)
