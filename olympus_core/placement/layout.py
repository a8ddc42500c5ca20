"""Layouts: the order of the elements of an array in memory."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, ClassVar

from olympus_core.base.descriptions import ShapeDtypeStruct
from olympus_core.base.errors import ArgumentError, ShardingError, UnsupportedError
from olympus_core.placement.sharding import Sharding


class AutoLayout:
    """The choice of the compiler: `Layout.AUTO`."""

    def __repr__(self) -> str:
        return "AUTO"

    def check_compatible_aval(self, aval_shape: Sequence[int], what: str = "") -> None:
        """Accept arrays of any shape."""


class Layout:
    """The order of the axes in memory, the slowest first, and the tiles of a device's memory.

    `Layout.AUTO` leaves the order to the compiler.

    >>> Layout((0, 1)).major_to_minor
    (0, 1)
    """

    __slots__ = ("major_to_minor", "sub_byte_element_size_in_bits", "tiling")
    #: the choice of the compiler
    AUTO: ClassVar[AutoLayout] = AutoLayout()
    major_to_minor: tuple[int, ...]
    tiling: tuple[tuple[int, ...], ...] | None
    sub_byte_element_size_in_bits: int

    def __init__(
        self,
        major_to_minor: Iterable[int],
        tiling: Iterable[Iterable[int]] | None = None,
        sub_byte_element_size_in_bits: int = 0,
    ) -> None:
        self.major_to_minor = tuple(major_to_minor)
        self.tiling = None if tiling is None else tuple(map(tuple, tiling))
        self.sub_byte_element_size_in_bits = sub_byte_element_size_in_bits

    def update(self, **changes: object) -> Layout:
        """Return the layout with some arguments of the constructor replaced.

        >>> Layout((0, 1)).update(major_to_minor=(1, 0)).major_to_minor
        (1, 0)
        """
        fields: dict[str, Any] = {name: getattr(self, name) for name in self.__slots__}
        return Layout(**fields | changes)

    def check_compatible_aval(self, aval_shape: Sequence[int], what: str = "an array") -> None:
        """Raise ShardingError unless the layout is one of arrays of the shape `aval_shape`."""
        if len(self.major_to_minor) != len(aval_shape):
            raise ShardingError(
                f"{what} is incompatible with its layout annotation {self}: Length of "
                "major_to_minor and the rank of the value should match. Got major_to_minor="
                f"{self.major_to_minor} and shape={tuple(aval_shape)}"
            )
        if sorted(self.major_to_minor) != [*range(len(aval_shape))]:
            raise ShardingError(
                f"{what} needs a layout that has each axis once: {self} has duplicate or "
                "out-of-bounds values"
            )

    @property
    def is_row_major(self) -> bool:
        """True if the last axis is the fastest one, and the next to last one follows, and so on."""
        return all(axis == i for i, axis in enumerate(self.major_to_minor))

    def __repr__(self) -> str:
        return (
            f"Layout(major_to_minor={self.major_to_minor}, tiling={self.tiling}, "
            f"sub_byte_element_size_in_bits={self.sub_byte_element_size_in_bits})"
        )

    def _key(self) -> tuple[Any, ...]:
        return self.major_to_minor, self.tiling, self.sub_byte_element_size_in_bits

    def __eq__(self, other: object) -> bool:
        return self._key() == other._key() if isinstance(other, Layout) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._key())


class Format:
    """A layout and a sharding; each may be None, which leaves the choice open.

    `layout` may be `Layout.AUTO` too.  Functions that take a sharding take a format.

    Raises ArgumentError for other values, and for a layout without a sharding.

    >>> Format(Layout((0, 1)), SingleDeviceSharding(olympus.devices()[0])).layout.major_to_minor
    (0, 1)
    """

    __slots__ = ("layout", "sharding")

    def __init__(self, layout: Any = None, sharding: Sharding | None = None) -> None:
        if isinstance(layout, Layout) and sharding is None:
            raise ArgumentError(
                f"Sharding has to be concrete when layout has the type {type(layout)}. Please pass "
                "a `jax.sharding.NamedSharding` or `jax.sharding.SingleDeviceSharding` to the "
                "sharding argument. Got sharding None",
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
        """Return the sharding with the layout; `what` is the name of the argument in messages.

        Raises UnsupportedError for a layout with tiles, and ArgumentError for an open format if
        `is_concrete` is True.
        """
        if is_concrete and (self.sharding is None or isinstance(self.layout, AutoLayout)):
            raise ArgumentError(
                "sharding and layout in `Layout` instance should be concrete: `Layout.AUTO` cannot "
                f"be used in place of a device-local layout. Got layout: {self} for {what}"
            )
        if isinstance(self.layout, Layout) and self.layout.tiling:
            raise UnsupportedError(
                f"arrays have no tiles in memory, and {what} has {self.layout}",
                hint="leave tiling out",
            )
        return None if self.sharding is None else self.sharding.with_layout(self.layout)


ShapeDtypeStruct.formatted = staticmethod(Format)


def array_format(rank: int, sharding: Sharding | None) -> Format:
    """Return the format of arrays that have a sharding with its layout, by default row-major.

    It is empty without a sharding.
    """
    if sharding is None:
        return Format()
    return Format(Layout(order_of(rank, sharding), ()), sharding.with_layout(None))


def order_of(rank: int, sharding: Sharding) -> tuple[int, ...]:
    """Return the axes of arrays with a sharding in the order of memory, the slowest first."""
    layout = sharding.layout
    order: tuple[int, ...] = tuple(range(rank)) if layout is None else layout.major_to_minor
    return order


def as_sharding(where: Any, what: str, *, is_concrete: bool = False) -> Any:
    """Return the sharding of a format as `to_sharding` does, and other values unchanged."""
    return where.to_sharding(what, is_concrete=is_concrete) if isinstance(where, Format) else where


def layout_mode(order: Sequence[int]) -> str:
    """Return an order of axes in the form of the compiler, the fastest first.

    >>> layout_mode((0, 2, 1))
    '{1,2,0}'
    """
    return f"{{{','.join(map(str, reversed(order)))}}}"
