"""The cumulative reductions of `olympus.lax`: `cumsum`, `cumprod`, `cummax` and the others."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Protocol

from olympus_core.ir.tracer import Array
from olympus_core.ir.typing import ArrayLike
from olympus_core.library.promotion import check_arrays
from olympus_core.primitives.cumulative import (
    Cumulative,
    cumlogsumexp_p,
    cummax_p,
    cummin_p,
    cumprod_p,
    cumsum_p,
)

if TYPE_CHECKING:

    class _AlongAxis(Protocol):
        """A reduction of the elements up to each index along an axis."""

        def __call__(self, operand: ArrayLike, axis: int = 0, reverse: bool = False) -> Array: ...


def _cumulative(primitive: Cumulative, summary: str) -> _AlongAxis:
    def cumulative(operand: ArrayLike, axis: int = 0, reverse: bool = False) -> Array:
        check_arrays(primitive.name, operand)
        place = operator.index(axis)
        return primitive.bind(operand, axis=place, reverse=bool(reverse))

    cumulative.__name__ = cumulative.__qualname__ = primitive.name
    cumulative.__doc__ = f"""{summary} of the elements up to each one along `axis`.

    operand: an array; the result has its shape and dtype.  axis: from 0.  reverse: of the
    elements from each one on.

    Raises ShapeError for an axis that the operand does not have, DTypeError for another kind.
    """
    return cumulative


cumsum = _cumulative(cumsum_p, "The sum")
cumprod = _cumulative(cumprod_p, "The product")
cummax = _cumulative(cummax_p, "The greatest")
cummin = _cumulative(cummin_p, "The least")
cumlogsumexp = _cumulative(cumlogsumexp_p, "The logarithm of the sum of the exponentials")
