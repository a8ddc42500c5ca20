"""A finding of the verification of one operation: the kind of fault, its place and its numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import numpy as np

from olympus_core.ir.olympuspr import Eqn
from olympus_core.verification.floats import Statistics, shares_digits, statistics, ulps

Array = np.ndarray[Any, Any]

#: The kinds of faults:
#:
#: - "wrong": the result differs from the definition of the operation by more than rounding
#: - "nan", "infinity": the result has one although the operands are finite, in float64 too
#: - "overflow": the result left the range of its dtype, but not that of float64
#: - "cancellation": the subtraction of nearly equal numbers left only their rounding errors
#: - "inaccurate": the result lost its digits in another way
#: - "exponential": the operation reverses an exponential that left the range of its dtype
#: - "compiled": the operation is correct alone, and wrong in the compiled program
#: - "sensitive": the operation is correct, and its result depends on a rounding error
Kind = Literal[
    "wrong",
    "nan",
    "infinity",
    "overflow",
    "cancellation",
    "inaccurate",
    "exponential",
    "compiled",
    "sensitive",
]


class Element(NamedTuple):
    """One element of a result: its value, the expected value, and their distance.

    `place` is its index. `error` and `allowed` are absolute. `ulps` is the error in steps of the
    result's dtype, None if `shares_digits` is False.
    """

    place: tuple[int, ...]
    got: Any
    expected: Any
    error: float
    allowed: float
    ulps: float | None


class Finding(NamedTuple):
    """A fault of an operation, or of its operands.

    `location` is the user's "file:line", `text` that line, and `path` the enclosing operations,
    such as ("scan, iteration 3",).
    """

    kind: Kind
    operation: str
    location: str | None
    text: str
    scope: str
    path: tuple[str, ...]
    operands: tuple[Statistics, ...]
    result: Statistics
    element: Element | None = None


def finding(
    kind: Kind,
    eqn: Eqn,
    path: Sequence[str],
    operands: Sequence[Array],
    result: Array,
    element: Element | None = None,
) -> Finding:
    """Return the finding of an equation on these operands."""
    position = eqn.source.position()
    return Finding(
        kind,
        eqn.primitive.spoken(eqn.params),
        str(position) if position else None,
        position.text() if position else "",
        eqn.source.scope,
        tuple(path),
        tuple(map(statistics, operands)),
        statistics(result),
        element,
    )


def worst(result: Array, expected: Array, excess: Array, allowed: Any) -> Element:
    """Return the element with the largest `excess`; `expected` may have a wider dtype."""
    index = tuple(int(i) for i in np.unravel_index(int(np.argmax(excess)), result.shape))
    with np.errstate(all="ignore"):
        rounded = expected.astype(result.dtype)
        steps = float(ulps(result[index].reshape(1), rounded[index].reshape(1))[0])
        near = bool(shares_digits(result[index].reshape(1), expected[index].reshape(1))[0])
        wide = np.complex128 if result.dtype.kind == "c" else np.float64
        error = float(np.abs(result[index].astype(wide) - expected[index].astype(wide)))
    bound = float(np.broadcast_to(allowed, result.shape)[index])
    numbers = result[index].item(), expected[index].item(), error, bound
    return Element(index, *numbers, steps if near and np.isfinite(steps) else None)
