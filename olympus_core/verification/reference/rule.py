"""The rule of a reference: an evaluation in float64, and a bound of rounding errors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from olympus_core.base.avals import ShapedArray

Array = np.ndarray[Any, Any]


class Call(NamedTuple):
    """One evaluation of an operation.

    `operands` are float64 or complex128 where the program has floats, and as they are elsewhere.
    `natives` are the program's own values, in its dtypes, by which a rule decides an order.
    """

    params: dict[str, Any]
    avals_in: Sequence[ShapedArray]
    avals_out: Sequence[ShapedArray]
    operands: Sequence[Array]
    natives: Sequence[Array]

    @property
    def out(self) -> ShapedArray:
        """The type of the only result."""
        return self.avals_out[0]


class Rule(NamedTuple):
    """The evaluation of an operation, and the bound of the program's error.

    `error` returns an absolute error for each element, for a call, its results and the unit
    roundoff u. It is sound, not sharp; its source is beside it. `terms` is the number of rounded
    terms in each element's sum, the size of the random error. A `continuous` operation is computed
    in float64 from float64 operands. A discontinuous one is computed from the program's own
    operands, because a value at a jump would fall to the other side. An operation that `sums` adds
    terms, and the result may be much smaller than the terms; with `products` the terms are
    products. An operation that `adds` is the sum or the difference of two values. One that
    `is_exponential` leaves the range of its dtype for operands of an ordinary size.
    """

    value: Callable[[Call], Sequence[Array]]
    error: Callable[[Call, Sequence[Array], float], Sequence[Any]] | None = None
    terms: Callable[[Call], float] = lambda _: 1.0
    continuous: bool = True
    sums: bool = False
    products: bool = False
    adds: bool = False
    is_exponential: bool = False


def moves(value: Callable[[Call], Any]) -> Rule:
    """Return the rule of an operation that moves elements without rounding."""
    return Rule(lambda call: [value(call)])
