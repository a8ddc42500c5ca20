"""The cumulative reductions of `olympus.lax`: `cumsum`, `cumprod`, `cummax` and their kin."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from olympus_core.library.promotion import check_arrays
from olympus_core.primitives.cumulative import (
    Cumulative,
    cumlogsumexp_p,
    cummax_p,
    cummin_p,
    cumprod_p,
    cumsum_p,
)

__all__ = ["cumlogsumexp", "cummax", "cummin", "cumprod", "cumsum"]


def _cumulative(primitive: Cumulative, summary: str) -> Callable[..., Any]:
    def cumulative(operand: Any, axis: int = 0, reverse: bool = False) -> Any:
        check_arrays(primitive.name, operand)
        return primitive.bind(operand, axis=operator.index(axis), reverse=bool(reverse))

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
