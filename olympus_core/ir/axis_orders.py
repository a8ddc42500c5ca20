"""Orders of axes: the order in memory of the axes of an array, and operations on reordered arrays.

An order is a permutation: axis i of the reordered array is axis `order[i]` of the array.  None is
the order of the array itself.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple, TypeVar

Order = tuple[int, ...]
_T = TypeVar("_T")


class Reordered(NamedTuple):
    """An operation on reordered arrays: its parameters, and the orders of operands and results."""

    params: dict[str, Any]
    operands: tuple[Order | None, ...]
    results: tuple[Order | None, ...]


def inverse(order: Order) -> Order:
    """Return the inverse of a permutation.

    >>> inverse((0, 2, 3, 1))
    (0, 3, 1, 2)
    """
    return tuple(sorted(range(len(order)), key=order.__getitem__))


def in_order(values: Sequence[_T], order: Order) -> tuple[_T, ...]:
    """Return one value for each axis, of the axes in the order `order`."""
    return tuple([values[i] for i in order])


def unless_identity(order: Order) -> Order | None:
    """Return an order, and None for that of the array itself."""
    return None if order == tuple(range(len(order))) else order


def moves_elements(shape: Sequence[int], order: Order) -> bool:
    """Return True if elements of an array move in memory, and not only axes of length 1."""
    axes = [axis for axis in order if shape[axis] != 1]
    return axes != sorted(axes)


def renumbered(axes: Sequence[int]) -> Order | None:
    """Return the order of an array with some of its axes, from their numbers in memory order."""
    places = {axis: i for i, axis in enumerate(sorted(axes))}
    return unless_identity(tuple([places[a] for a in axes]))


def most_common(orders: Sequence[Order | None]) -> Order | None:
    """Return the most frequent order that is not None; None if all are."""
    given = Counter([x for x in orders if x is not None])
    return given.most_common(1)[0][0] if given else None


def along_axes(params: dict[str, Any], order: Order, names: Sequence[str]) -> dict[str, Any]:
    """Return parameters whose named values, one for each axis or None, are in an order."""
    moved = {n: in_order(params[n], order) for n in names if params[n] is not None}
    return params | moved
