"""Layouts: the order of the elements of an array in memory."""

from __future__ import annotations

from typing import Any, NamedTuple


class Layout(NamedTuple):
    """The order of the axes in memory, the slowest first, and the tiles of a device's memory.

    >>> Layout((0, 1)).major_to_minor
    (0, 1)
    """

    major_to_minor: tuple[int, ...]
    tiling: tuple[tuple[int, ...], ...] | None = None
    sub_byte_element_size_in_bits: int = 0


class Format(NamedTuple):
    """A layout and a sharding; each may be None, which leaves the choice open."""

    layout: Layout | None = None
    sharding: Any = None


def row_major(rank: int, sharding: Any) -> Format:
    """Return the format of arrays in row-major order."""
    return Format(Layout(tuple(range(rank)), ()), sharding)
