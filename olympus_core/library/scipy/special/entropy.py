"""Entropies, products with logarithms, and softmax.

Integers become floats.  0 log 0 counts as 0.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from olympus_core.avals import shape_of
from olympus_core.control.custom_jvp import custom_jvp
from olympus_core.library import softmax as normalized
from olympus_core.library.axes import Axis
from olympus_core.library.composite import composite
from olympus_core.library.elementwise import binary, by_name, unary
from olympus_core.library.numpy.elementwise.arithmetic import divide
from olympus_core.library.numpy.elementwise.exponential import log, log1p
from olympus_core.library.numpy.elementwise.logic import isnan
from olympus_core.library.numpy.sorting.searching import where
from olympus_core.library.promotion import broadcast_to, promote_inexact
from olympus_core.library.typing import ArrayLike
from olympus_core.tracer import Array

if TYPE_CHECKING:
    from olympus_core.library.signatures import OfPQ, OfX, OfXY

__all__ = [
    "entr",
    "kl_div",
    "log_softmax",
    "rel_entr",
    "softmax",
    "xlog1py",
    "xlogy",
]


def _times_log(logarithm: Callable[[Any], Any], inner: Callable[[Any], Any]) -> Any:
    """x log(y), with derivative log(y) in x where it is 0 as well; inner is log's argument."""

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


_xlogy = _times_log(log, lambda y: y)
_xlog1py = _times_log(log1p, lambda y: 1 + y)
xlogy: OfXY = by_name(
    binary("xlogy", "x log(y), 0 where x is 0.", {"fc": _xlogy}, promote_inexact), "x", "y"
)
xlog1py: OfXY = by_name(
    binary("xlog1py", "x log(1 + y), 0 where x is 0.", {"fc": _xlog1py}, promote_inexact), "x", "y"
)


@custom_jvp
def _xlogx(x: Any) -> Any:
    return xlogy(x, x)


@_xlogx.defjvp
def _xlogx_rule(primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]:
    (x,), (t,) = primals, tangents
    return _xlogx(x), t * (log(x) + 1)


@composite()
def _entr(x: Any) -> Any:
    return where(x < 0, -np.inf, -_xlogx(x))


@composite()
def _rel_entr(p: Any, q: Any) -> Any:
    both = (p > 0) & (q > 0)
    safe_p, safe_q = where(both, p, 1), where(both, q, 1)
    value = _xlogx(safe_p) - xlogy(safe_p, safe_q)
    return where(both, value, where((p == 0) & (q >= 0), 0, np.inf))


@composite()
def _kl_div(p: Any, q: Any) -> Any:
    return _rel_entr(p, q) - p + q


entr: OfX = by_name(
    unary("entr", "-x log(x); -inf for negative x.", {"f": _entr}, promote_inexact), "x"
)


def _divergence(name: str, summary: str, operation: Callable[[Any, Any], Any]) -> OfPQ:
    text = f"{summary}; inf where either is negative."
    return by_name(binary(name, text, {"f": operation}, promote_inexact), "p", "q")


rel_entr = _divergence("rel_entr", "p log(p / q)", _rel_entr)
kl_div = _divergence("kl_div", "p log(p / q) - p + q", _kl_div)


def softmax(x: ArrayLike, /, *, axis: Axis = None) -> Array:
    """exp(x) over its sum along `axis`, by default over all elements.

    Raises ShapeError for an axis that x does not have.
    """
    return normalized.softmax(x, axis=axis)


def log_softmax(x: ArrayLike, /, *, axis: Axis = None) -> Array:
    """The logarithm of `softmax`, computed without overflow."""
    return normalized.log_softmax(x, axis=axis)
