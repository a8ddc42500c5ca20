"""The keys `buckets`, `padding` and `oversize` of a target: one bundle for several sizes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from olympus_cli.spec import matrix
from olympus_cli.spec.section import Section

if TYPE_CHECKING:
    from olympus_cli.spec.model import TargetSpec

#: The contents of padded rows of an argument, the default first.
FILLS = ("zeros", "edge", "mask")
#: The treatments of a call with more rows than the largest size, the default first.
OVERSIZE = ("refuse", "split", "refine")
#: The steps of a range of sizes in words
POWERS = "pow2"

_MOST_SIZES = 64
_LARGEST = 2**31


@dataclass(frozen=True)
class BucketSpec:
    """The bundle that a target is a part of: the program for one of its sizes.

    `name` is that of the bundle, and `symbol` the key of the sizes, in braces in the shapes.
    `padding` has the fills of arguments by name. `twin` is the same target for another number of
    rows, which is traced and not built, to prove that rows are independent. `general` is the one
    whose number of rows is symbolic, for calls with more rows.
    """

    name: str
    symbol: str
    size: int
    sizes: tuple[int, ...]
    padding: Mapping[str, str]
    oversize: str
    twin: TargetSpec | None = None
    general: TargetSpec | None = None


@dataclass(frozen=True)
class Buckets:
    """The table `buckets` of a target: a symbol and its sizes, in increasing order."""

    symbol: str
    sizes: tuple[int, ...]
    padding: Mapping[str, str]
    oversize: str

    def twin(self, size: int) -> int:
        """Return another number of rows to trace beside a size, which shows the axes with rows.

        It is the least number that the size serves, but not 1: an axis of length 1 is broadcast.
        """
        place = self.sizes.index(size)
        least = max(2, self.sizes[place - 1] + 1 if place else 2)
        if least < size:
            return least
        return size - 1 if size > 2 else size + 1

    def spec(
        self, name: str, size: int, twin: TargetSpec | None, general: TargetSpec | None = None
    ) -> BucketSpec:
        """Return the part of the bundle `name` for one size."""
        settings = self.symbol, size, self.sizes, self.padding, self.oversize
        return BucketSpec(name, *settings, twin, general)


def buckets_of(section: Section) -> Buckets | None:
    """Return the buckets of a target; None for one without.

    Raises:
        SpecError: the sizes, a fill or the treatment of larger calls is wrong, or no shape has the
            symbol.
    """
    if "buckets" not in section.data:
        for key in ("padding", "oversize"):
            if key in section.data:
                section.fail(key, "needs the table buckets", "such as buckets.batch = [1, 8, 32]")
        return None
    table = section.table("buckets")
    if len(table.data) != 1:
        section.fail(
            "buckets",
            f"has {len(table.data)} keys, and a bundle has the sizes of one",
            "such as buckets.batch = [1, 8, 32]; `matrix` makes a bundle for each other size",
        )
    ((symbol, value),) = table.data.items()
    if not symbol.isidentifier():
        section.fail("buckets", f"has the key {symbol!r}, which is not a name")
    if symbol in section.table("matrix").data:
        section.fail("buckets", f"and matrix have the key {symbol!r}")
    if symbol not in {name for _, name in matrix.sizes(section.data.get("args"))}:
        section.fail(
            "buckets",
            f"has the key {symbol!r}, and no shape of args has {{{symbol}}} as a size",
            f'such as args.x = "f32[{{{symbol}}},128]"',
        )
    padding = {name: _fill(section.table("padding"), name) for name in _padding(section)}
    oversize = section.choice("oversize", OVERSIZE)
    return Buckets(symbol, _sizes(table, symbol, value), padding, oversize)


def _padding(section: Section) -> list[str]:
    """Return the names in the table `padding`, which must be those of arguments."""
    args = section.data.get("args")
    for name in section.table("padding").data:
        if isinstance(args, dict) and name.split(".")[0].split("[")[0] not in args:
            section.fail("padding", f"has the key {name!r}, which is not an argument in args")
    return list(section.table("padding").data)


def _fill(table: Section, name: str) -> str:
    value = table.data[name]
    if value not in FILLS:
        table.wrong(name, f"{', '.join(FILLS[:-1])} or {FILLS[-1]}", value)
    return str(value)


def _sizes(table: Section, symbol: str, value: object) -> tuple[int, ...]:
    """Return the sizes of a list, or of a range in a table."""
    sizes = _range(table, symbol, value) if isinstance(value, dict) else value
    form = 'an array of sizes in increasing order, or { min = 1, max = 512, step = "pow2" }'
    if not isinstance(sizes, list) or not sizes or not all(map(_is_size, sizes)):
        table.wrong(symbol, form, value)
    if sorted(set(sizes)) != sizes:
        table.wrong(symbol, form, value)
    if len(sizes) > _MOST_SIZES:
        table.fail(symbol, f"has {len(sizes)} sizes, and at most {_MOST_SIZES} are allowed")
    return tuple(sizes)


def _is_size(value: object) -> bool:
    return type(value) is int and 1 <= value <= _LARGEST


def _range(table: Section, symbol: str, value: dict[str, object]) -> list[int]:
    """Return the sizes from `min` to `max`: powers of two, or multiples of a step above `min`."""
    inner = Section(table.source, (*table.keys, symbol), value)
    inner.only(("min", "max", "step"))
    least, most, step = value.get("min", 1), value.get("max"), value.get("step", POWERS)
    for key, number in (("min", least), ("max", most)):
        if not _is_size(number):
            inner.wrong(key, f"a size from 1 to {_LARGEST}", number)
    assert isinstance(least, int) and isinstance(most, int)
    if most < least:
        inner.fail("max", f"is {most}, and min is {least}")
    if step != POWERS and not _is_size(step):
        inner.wrong("step", f'"{POWERS}" or a number', step)
    sizes = [least]
    while sizes[-1] < most and len(sizes) <= _MOST_SIZES:
        last = sizes[-1]
        after = 1 << last.bit_length() if step == POWERS else last + int(str(step))
        sizes.append(min(after, most))
    return sizes
