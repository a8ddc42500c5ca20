"""Layouts: the order of the elements of an array in memory."""

from __future__ import annotations

from typing import Any, NamedTuple

from olympus_core.base.errors import ArgumentError, UnsupportedError
from olympus_core.placement.sharding import Sharding


class AutoLayout:
    """The choice of the compiler: `Layout.AUTO`."""

    def __repr__(self) -> str:
        return "AUTO"


class Layout(NamedTuple):
    """The order of the axes in memory, the slowest first, and the tiles of a device's memory.

    `Layout.AUTO` leaves the order to the compiler.

    >>> Layout((0, 1)).major_to_minor
    (0, 1)
    """

    major_to_minor: tuple[int, ...]
    tiling: tuple[tuple[int, ...], ...] | None = None
    sub_byte_element_size_in_bits: int = 0


AUTO = AutoLayout()
Layout.AUTO = AUTO  # type: ignore[attr-defined]


class Format:
    """A layout and a sharding; each may be None, which leaves the choice open.

    `layout` may be `Layout.AUTO` too.  Functions that take a sharding take a format.  The arrays
    outside of programs are row-major, and a layout of another order is refused there.

    Raises ArgumentError for other values, and for a layout without a sharding.

    >>> Format(Layout((0, 1)), SingleDeviceSharding(olympus.devices()[0])).layout.major_to_minor
    (0, 1)
    """

    __slots__ = ("layout", "sharding")

    def __init__(self, layout: Any = None, sharding: Sharding | None = None) -> None:
        if isinstance(layout, Layout) and sharding is None:
            raise ArgumentError(
                f"Sharding has to be concrete when layout has the type {type(layout)}. Got "
                "sharding None",
                hint="pass a NamedSharding or a SingleDeviceSharding",
            )
        if not isinstance(layout, Layout | AutoLayout | None):
            raise ArgumentError(
                "Invalid value received for the layout argument. Expected values are `None`, "
                f"`Layout.AUTO` or an instance of `Layout`. Got {layout!s:.80} of type "
                f"{type(layout)}"
            )
        if not isinstance(sharding, Sharding | None):
            raise ArgumentError(
                "Invalid value received for the sharding argument. Expected values are `None` or "
                f"an instance of `Sharding`. Got {sharding!s:.80} of type {type(sharding)}"
            )
        self.layout = layout
        self.sharding = sharding

    def __repr__(self) -> str:
        return f"Format(layout={self.layout}, sharding={self.sharding})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Format):
            return NotImplemented
        return bool(self.layout == other.layout) and self.sharding == other.sharding

    def __hash__(self) -> int:
        return hash((self.layout, self.sharding))

    def to_sharding(self, what: str, *, is_concrete: bool = False) -> Sharding | None:
        """Return the sharding; `what` is the name of the argument in messages.

        Raises UnsupportedError for a layout that is not row-major, and ArgumentError for an open
        format if `is_concrete` is True.
        """
        if is_concrete and (self.sharding is None or isinstance(self.layout, AutoLayout)):
            raise ArgumentError(
                "sharding and layout in `Layout` instance should be concrete. Got layout: "
                f"{self} for {what}"
            )
        if isinstance(self.layout, Layout):
            order = tuple(self.layout.major_to_minor)
            if order != tuple(range(len(order))) or self.layout.tiling:
                raise UnsupportedError(
                    f"arrays are row-major in memory, and {what} has {self.layout}",
                    hint="use with_layout_constraint inside of the program",
                )
        return self.sharding


def row_major(rank: int, sharding: Any) -> Format:
    """Return the format of arrays in row-major order, whose layout is None without a sharding."""
    return Format(None if sharding is None else Layout(tuple(range(rank)), ()), sharding)


def without_layout(where: Any, what: str, *, is_concrete: bool = False) -> Any:
    """Return the sharding of a format as `to_sharding` does, and other values unchanged."""
    return where.to_sharding(what, is_concrete=is_concrete) if isinstance(where, Format) else where
