"""A finding of the verification of one operation: the kind of fault, its place and its numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import numpy as np

from olympus_core.ir.olympuspr import Eqn
from olympus_core.verification.floats import Statistics, shares_digits, statistics, ulps

Array = np.ndarray[Any, Any]

#: - "wrong": the result is not what the operation means, beyond what rounding explains
#: - "nan", "infinity": it made one of finite operands, in float64 too
#: - "overflow": it left the range of its dtype, and not that of float64
#: - "cancellation": it subtracted nearly equal numbers, and left their errors
#: - "inaccurate": its result lost its digits in another way
#: - "exponential": it takes back an exponential that left the range of its dtype
#: - "compiled": alone it is right, and in the compiled program it is not
#: - "sensitive": it is right, and decides by a difference that is no more than rounding
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


def worst(got: Array, expected: Array, excess: Array, allowed: Any) -> Element:
    """Return the element with the largest `excess`; `expected` may have a wider dtype."""
    index = tuple(int(i) for i in np.unravel_index(int(np.argmax(excess)), got.shape))
    with np.errstate(all="ignore"):
        rounded = expected.astype(got.dtype)
        steps = float(ulps(got[index].reshape(1), rounded[index].reshape(1))[0])
        near = bool(shares_digits(got[index].reshape(1), expected[index].reshape(1))[0])
        wide = np.complex128 if got.dtype.kind == "c" else np.float64
        error = float(np.abs(got[index].astype(wide) - expected[index].astype(wide)))
    bound = float(np.broadcast_to(allowed, got.shape)[index])
    known = got[index].item(), expected[index].item(), error, bound
    return Element(index, *known, steps if near and np.isfinite(steps) else None)
