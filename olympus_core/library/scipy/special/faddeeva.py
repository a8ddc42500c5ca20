"""The Faddeeva function, Owen's T function, and Bessel functions of integer orders."""

from __future__ import annotations

import functools
import math
import operator
from typing import Any

import numpy as np

from olympus_core.base import dtypes
from olympus_core.base.avals import get_aval, shape_of
from olympus_core.base.errors import ArgumentError
from olympus_core.control.custom_jvp import custom_jvp
from olympus_core.ir.tracer import Array
from olympus_core.ir.typing import ArrayLike
from olympus_core.library.composite import composite
from olympus_core.library.lax import elementwise as lax
from olympus_core.library.lax.control import fori_loop
from olympus_core.library.numpy.creation.fills import ones_like, zeros, zeros_like
from olympus_core.library.numpy.elementwise.arithmetic import abs as abs_
from olympus_core.library.numpy.elementwise.arithmetic import maximum, minimum, sign
from olympus_core.library.numpy.elementwise.exponential import exp
from olympus_core.library.numpy.elementwise.trigonometric import arctan
from olympus_core.library.numpy.manipulation.shapes import broadcast_arrays
from olympus_core.library.numpy.sorting.searching import where
from olympus_core.library.promotion import check_arrays, convert, promote_inexact
from olympus_core.library.scipy.special.integrals import real_erfcx, reals

#: the terms of the expansion of the Faddeeva function
_TERMS = 64


@functools.cache
def _expansion() -> tuple[float, Any]:
    """Return the scale and the coefficients of the expansion in (L + iz) / (L - iz).

    J. A. C. Weideman, "Computation of the complex error function", SIAM J. Numer. Anal. 31(5),
    1994.
    """
    scale = math.sqrt(_TERMS / math.sqrt(2))
    half = 2 * _TERMS
    t = scale * np.tan(np.arange(-half + 1, half) * math.pi / (2 * half))
    samples = np.concatenate([[0.0], np.exp(-t * t) * (scale**2 + t * t)])
    coefficients = np.fft.fft(np.fft.fftshift(samples)).real / (2 * half)
    return scale, coefficients[_TERMS:0:-1]


@custom_jvp
def _wofz(z: Any) -> Any:
    scale, coefficients = _expansion()
    is_lower = lax.imag(z) < 0
    upper = where(is_lower, -z, z)
    denominator = scale - 1j * upper
    ratio = (scale + 1j * upper) / denominator
    total: Any = 0.0
    for c in coefficients:
        total = total * ratio + float(c)
    value = 2 * total / (denominator * denominator) + 1 / math.sqrt(math.pi) / denominator
    safe = where(is_lower, z, 0)
    return where(is_lower, 2 * exp(-safe * safe) - value, value)


@_wofz.defjvp
def _wofz_rule(primals: Any, tangents: Any) -> tuple[Any, Any]:
    (z,), (t,) = primals, tangents
    value = _wofz(z)
    return value, (2j / math.sqrt(math.pi) - 2 * z * value) * t


def wofz(z: ArrayLike) -> Array:
    """Return the Faddeeva function exp(-z**2) * erfc(-i z), as complex numbers.

    >>> wofz(asarray([0.0, 1.0])).real
    Array([1.        , 0.36787945], dtype=float32)
    """
    check_arrays("wofz", z)
    (x,) = promote_inexact(z)
    dtype = get_aval(x).dtype
    result: Array = composite()(_wofz)(convert(x, dtypes.to_complex(dtype)))
    return result


def erfcx(x: ArrayLike) -> Array:
    """Return exp(x**2) * erfc(x), which does not underflow for large x; numbers may be complex.

    >>> erfcx(asarray([0.0, 10.0]))
    Array([1.        , 0.05614099], dtype=float32)
    """
    check_arrays("erfcx", x)
    (z,) = promote_inexact(x)
    if dtypes.kind(get_aval(z).dtype) == "c":
        return wofz(lax.complex(-lax.imag(z), lax.real(z)))
    result: Array = reals("erfcx", real_erfcx, z)
    return result


#: the nodes and weights on [0, 1] of the integral of Owen's function
_NODES = 40
#: the product of h and the variable beyond which the integrand vanishes
_WIDTH = 9.0


@functools.cache
def _quadrature() -> tuple[Any, Any]:
    nodes, weights = np.polynomial.legendre.leggauss(_NODES)
    return (nodes + 1) / 2, weights / 2


def _owens_integral(h: Any, a: Any) -> Any:
    """Return T for 0 <= a <= 1, by quadrature of the part of [0, a] that is not negligible."""
    end = minimum(a, _WIDTH / maximum(h, 1e-30))
    total: Any = 0.0
    for node, weight in zip(*_quadrature(), strict=True):
        x = float(node) * end
        total = total + float(weight) * exp(-0.5 * (h * x) ** 2) / (1 + x * x)
    return end * total * exp(-0.5 * h * h) / (2 * math.pi)


@custom_jvp
def _owens_t(h: Any, a: Any) -> Any:
    """T(h, a), by T(h a, 1 / a) for a > 1 (D. B. Owen, Ann. Math. Statist. 27, 1956)."""
    y, b = abs_(h), abs_(a)
    is_large = b > 1
    inner = where(is_large, b, 1)
    product = where(y == 0, 0, y * inner)
    small = _owens_integral(y, where(is_large, 0, b))
    tail, other = (0.5 * lax.erfc(v * math.sqrt(0.5)) for v in (y, product))
    finite = where(product == np.inf, 1e10, product)
    rest = 0.5 * (tail + other) - tail * other - _owens_integral(finite, 1 / inner)
    value = where(is_large, rest, small)
    value = where(y == 0, arctan(b) / (2 * math.pi), where(y == np.inf, 0, value))
    return sign(a) * where((h != h) | (a != a), np.nan, value)


@_owens_t.defjvp
def _owens_rule(primals: Any, tangents: Any) -> tuple[Any, Any]:
    (h, a), (dh, da) = primals, tangents
    density = exp(-0.5 * h * h) / (2 * math.sqrt(2 * math.pi))
    of_h = -density * lax.erf(a * h * math.sqrt(0.5))
    of_a = exp(-0.5 * h * h * (1 + a * a)) / (2 * math.pi * (1 + a * a))
    return _owens_t(h, a), of_h * dh + of_a * da


@composite()
def _owens_aligned(h: Any, a: Any) -> Any:
    return _owens_t(*broadcast_arrays(h, a))


def owens_t(h: ArrayLike, a: ArrayLike) -> Array:
    """Return Owen's T: the probability that X > h and 0 < Y < a X, for normal X and Y.

    Raises ArgumentError for complex numbers.

    >>> owens_t(asarray([0.0, 1.0]), 1.0)
    Array([0.125     , 0.06674188], dtype=float32)
    """
    result: Array = reals("owens_t", _owens_aligned, h, a)
    return result


@composite(static_argnums=(1, 2))
def _bessel(z: Any, orders: int, steps: int) -> Any:
    """Miller's backward recurrence, scaled where it grows, with J_0 + 2 (J_2 + J_4 + ...) = 1."""
    dtype = get_aval(z).dtype
    safe = where(z == 0, 1, z)

    def step(i: Any, state: tuple[Any, Any, Any, Any]) -> tuple[Any, Any, Any, Any]:
        values, before, last, total = state
        k = steps - i
        value = convert(2 * (k + 1), dtype) / safe * last - before
        scale = where(abs_(value) > 1e10, 1e-10, 1.0)
        value, last, total, values = (v * scale for v in (value, last, total, values))
        values = where(_column(k, orders, values), value, values)
        share = where(k == 0, value, where(k % 2 == 0, 2 * value, 0))
        return values, last, value, total + share

    start = zeros((orders + 1, *shape_of(z)), dtype)
    seed = ones_like(z) * float(dtypes.finfo(dtype).tiny) * 1e4
    values, _, _, total = fori_loop(0, steps + 1, step, (start, zeros_like(z), seed, zeros_like(z)))
    at_zero = where(_column(0, orders, values), 1, 0)
    return where(z == 0, at_zero, values / where(total == 0, 1, total))


def _column(k: Any, orders: int, like: Any) -> Any:
    """Return True at the row k of an array of orders."""
    return (np.arange(orders + 1) == k).reshape((orders + 1,) + (1,) * (len(shape_of(like)) - 1))


def bessel_jn(z: ArrayLike, *, v: int, n_iter: int = 50) -> Array:
    """Return the Bessel functions of the first kind J_0 to J_v, along a first axis.

    z: real numbers, of magnitudes that are less than `n_iter`, from which the recurrence starts.

    Raises ArgumentError for complex numbers and for a negative order.

    S. Zhang and J. Jin, Computation of Special Functions, 1996, 5.2.

    >>> bessel_jn(asarray([1.0]), v=1)
    Array([[0.7651977 ],
           [0.44005057]], dtype=float32)
    """
    orders, steps = operator.index(v), operator.index(n_iter)
    if orders < 0:
        raise ArgumentError(f"bessel_jn needs an order v >= 0, and got {orders}")
    result: Array = reals("bessel_jn", lambda x: _bessel(x, orders, max(steps, orders)), z)
    return result
