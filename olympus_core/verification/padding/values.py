"""The padding of a value: its axes with padded rows, and the constants in these rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

import numpy as np

from olympus_core.base.avals import ShapedArray

#: An unknown value that is computed from real rows alone. It is taken as finite: where it is not,
#: the results of the real rows are not finite either, with and without padding.
REAL: Final[Any] = type("Real", (), {"__repr__": lambda _: "REAL"})()


class Padding(NamedTuple):
    """The padded axes of a value, and the constants that are known of its elements.

    The length of a padded axis is a multiple of the number of rows, and the padding is at its end.
    `fills` has, by axis, the constant of all elements in the padding along the axis, `REAL`, or
    None if they are unknown. `constant` is the value of all elements, None if it is unknown.
    """

    fills: Mapping[int, Any] = {}
    constant: Any = None

    def along(self, axis: int) -> Any:
        """Return the constant in the padding along an axis; None if it is unknown."""
        return self.constant if self.constant is not None else self.fills.get(axis)

    def moved(self, places: Mapping[int, int]) -> Padding:
        """Return the padding of a value with the axes at other places; other axes are dropped."""
        fills = {places[axis]: fill for axis, fill in self.fills.items() if axis in places}
        return Padding(fills, self.constant)

    def joined(self, other: Padding) -> Padding:
        """Return the padding of a value that is one of two."""
        fills = {
            k: common_fill(self.along(k), other.along(k)) for k in {**self.fills, **other.fills}
        }
        return Padding(fills, common_fill(self.constant, other.constant))


UNPADDED = Padding()


def common_fill(one: Any, two: Any) -> Any:
    """Return the constant that two values are both equal to, bit by bit; None if there is none."""
    if one is None or two is None:
        return None
    return one if is_same(one, two) else None


def is_same(one: Any, two: Any) -> bool:
    """Return True if two scalars have one dtype and the same bits, or are both `REAL`."""
    if one is REAL or two is REAL:
        return one is two
    one, two = np.asarray(one), np.asarray(two)
    return bool(one.dtype == two.dtype and one.tobytes() == two.tobytes())


def scalar(value: Any, aval: ShapedArray) -> Any:
    """Return a number as a scalar of the dtype of a value."""
    with np.errstate(all="ignore"):
        return np.asarray(value).astype(aval.dtype)[()]
