"""Entropies, products with logarithms, and softmax.

Integers become floats.  0 log 0 counts as 0.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from olympus_core.base.avals import shape_of
from olympus_core.control.custom_jvp import custom_jvp
from olympus_core.ir.tracer import Array
from olympus_core.ir.typing import ArrayLike
from olympus_core.library import softmax as normalized
from olympus_core.library.axes import Axis
from olympus_core.library.composite import composite
from olympus_core.library.elementwise import binary, unary
from olympus_core.library.numpy.elementwise.arithmetic import divide
from olympus_core.library.numpy.elementwise.exponential import log, log1p
from olympus_core.library.numpy.elementwise.logic import isnan
from olympus_core.library.numpy.sorting.searching import where
from olympus_core.library.operands import scalar_beside
from olympus_core.library.promotion import broadcast_to, promote_inexact


def _times_log(logarithm: Callable[[Any], Any], inner: Callable[[Any], Any]) -> Any:
    """Return x log(y), with derivative log(y) in x also at 0; `inner` is the argument of log."""

    @custom_jvp
    def product(x: Any, y: Any) -> Any:
        return where((x == 0) & ~isnan(y), 0, x * logarithm(y))

    @product.defjvp
    def rule(primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]:
        (x, y), (dx, dy) = primals, tangents
        # not x / y: of Python scalars, it would raise ZeroDivisionError
        return product(x, y), dx * logarithm(y) + dy * divide(x, inner(y))

    def spread(x: Any, y: Any) -> Any:
        # the derivatives have their operands' shapes: a scalar's is summed by its broadcast
        shape = shape_of(x) or shape_of(y)
        return product(broadcast_to(x, shape), broadcast_to(y, shape))

    return composite()(spread)


_xlogy = binary("xlogy", "x log(y).", {"fc": _times_log(log, lambda y: y)}, promote_inexact)
_xlog1py = binary(
    "xlog1py", "x log(1 + y).", {"fc": _times_log(log1p, lambda y: 1 + y)}, promote_inexact
)


def xlogy(x: ArrayLike, y: ArrayLike) -> Array:
    """x log(y), 0 where x is 0; the operands broadcast.

    >>> xlogy(array([0.0, 1.0]), array([0.0, 2.0]))
    Array([0.       , 0.6931472], dtype=float32)
    """
    return _xlogy(x, y)


def xlog1py(x: ArrayLike, y: ArrayLike) -> Array:
    """x log(1 + y), 0 where x is 0; the operands broadcast.

    >>> xlog1py(array([0.0, 1.0]), array([-1.0, 1.0]))
    Array([0.       , 0.6931472], dtype=float32)
    """
    return _xlog1py(x, y)


@custom_jvp
def _xlogx(x: Any) -> Any:
    return xlogy(x, x)


@_xlogx.defjvp
def _xlogx_rule(primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]:
    (x,), (t,) = primals, tangents
    return _xlogx(x), t * (log(x) + 1)


@composite()
def _entr_of_floats(x: Any) -> Any:
    return where(x < 0, -np.inf, -_xlogx(x))


@composite()
def _rel_entr_of_floats(p: Any, q: Any) -> Any:
    are_positive = (p > 0) & (q > 0)
    safe_p, safe_q = where(are_positive, p, 1), where(are_positive, q, 1)
    value = _xlogx(safe_p) - xlogy(safe_p, safe_q)
    infinity = scalar_beside(p, np.inf)
    return where(are_positive, value, where((p == 0) & (q >= 0), 0, infinity))


@composite()
def _kl_div_of_floats(p: Any, q: Any) -> Any:
    return _rel_entr_of_floats(p, q) - p + q


_entr = unary("entr", "-x log(x).", {"f": _entr_of_floats}, promote_inexact)
_rel_entr = binary("rel_entr", "p log(p / q).", {"f": _rel_entr_of_floats}, promote_inexact)
_kl_div = binary("kl_div", "p log(p / q) - p + q.", {"f": _kl_div_of_floats}, promote_inexact)


def entr(x: ArrayLike) -> Array:
    """-x log(x); -inf for negative x.  Raises DTypeError for complex values.

    >>> entr(array([0.0, 1.0, 2.0]))
    Array([-0.       , -0.       , -1.3862944], dtype=float32)
    """
    return _entr(x)


def rel_entr(p: ArrayLike, q: ArrayLike) -> Array:
    """p log(p / q); inf where either is negative.  Raises DTypeError for complex values.

    >>> rel_entr(array([0.0, 1.0]), array([2.0, 0.5]))
    Array([0.       , 0.6931472], dtype=float32)
    """
    return _rel_entr(p, q)


def kl_div(p: ArrayLike, q: ArrayLike) -> Array:
    """p log(p / q) - p + q; inf where either is negative.  Raises DTypeError for complex values.

    >>> kl_div(array([0.0, 1.0]), array([2.0, 1.0]))
    Array([2., 0.], dtype=float32)
    """
    return _kl_div(p, q)


def softmax(x: ArrayLike, /, *, axis: Axis = None) -> Array:
    """exp(x) over its sum along `axis`, by default over all elements.

    Raises ShapeError for an axis that x does not have.

    >>> softmax(array([0.0, 0.0, 100.0]))
    Array([0., 0., 1.], dtype=float32)
    """
    return normalized.softmax(x, axis=axis)


def log_softmax(x: ArrayLike, /, *, axis: Axis = None) -> Array:
    """Return the logarithm of `softmax`, computed without overflow.

    >>> log_softmax(array([0.0, 0.0]))
    Array([-0.6931472, -0.6931472], dtype=float32)
    """
    return normalized.log_softmax(x, axis=axis)
