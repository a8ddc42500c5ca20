"""What a rule of the reference is: an evaluation in float64, and a bound of rounding errors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from olympus_core.avals import ShapedArray

__all__ = ["Array", "Call", "Rule", "moves"]

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
    """How an operation is computed, and how far from it the program's own result may be.

    `error` gives for a call, its results and the unit roundoff u an absolute error for each
    element.  It is sound, not sharp: where it comes from is said beside it.  `terms` is how many
    rounded terms each element sums, the size of the random error.  An operation that is
    `continuous` is computed in float64 from float64 operands; one that jumps is computed from the
    program's own, as a value at the edge would fall to the other side.  One that `sums` adds up
    terms, of which the result may be much smaller; those of `products` are these.
    """

    value: Callable[[Call], Sequence[Array]]
    error: Callable[[Call, Sequence[Array], float], Sequence[Any]] | None = None
    terms: Callable[[Call], float] = lambda _: 1.0
    continuous: bool = True
    sums: bool = False
    products: bool = False


def moves(value: Callable[[Call], Any]) -> Rule:
    """The rule of an operation that moves elements and rounds none."""
    return Rule(lambda call: [value(call)])
