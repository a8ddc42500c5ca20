"""Axes: numbers as users write them in, negative ones from the end; canonical ones out."""

from __future__ import annotations

import operator
from collections.abc import Iterable
from typing import Any

from olympus_core.avals import as_sequence
from olympus_core.errors import ShapeError

__all__ = ["canonical_axes", "canonical_axis"]


def canonical_axis(axis: Any, ndim: int, what: str = "axis") -> int:
    """`axis` as an int in [0, ndim); raises ShapeError, calling it `what`, where there is none."""
    try:
        found = operator.index(axis)
    except TypeError:
        raise ShapeError(f"{what} must be an int, and is {axis!r}") from None
    if not -ndim <= found < ndim:
        raise ShapeError(f"{what} {found} is out of bounds for an array of {ndim} dimensions")
    return found + ndim if found < 0 else found


def canonical_axes(axes: int | Iterable[Any], ndim: int, what: str = "axis") -> tuple[int, ...]:
    """An axis or several as a tuple of canonical ones; raises ShapeError where one repeats."""
    given = as_sequence(axes)
    found = tuple([canonical_axis(a, ndim, what) for a in given])
    if len(set(found)) != len(found):
        raise ShapeError(f"{what} is given more than once: {tuple(given)}")
    return found
