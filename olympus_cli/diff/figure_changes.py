"""The differences in the figures of two programs: cost, memory and time, from their reports.

The figures are read from the JSON form of a report, so that a report without one of them is
compared by the others.  For a program that was not built, only the cost is known.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Literal, NamedTuple

from olympus_cli.diff.comparison import FigureChange, SideName
from olympus_cli.reports.text import axes_text
from olympus_cli.text.units import byte_size, change, count, duration

# The parts of `memory` that do not include the memory allocated by kernels.
_WITHOUT_WORKSPACE = ("temporaries", "peak", "allocated")

_Unit = Literal["count", "bytes", "seconds"]
_UNITS: dict[_Unit, Callable[[float | None], str]] = {
    "count": count,
    "bytes": byte_size,
    "seconds": duration,
}

# The name of a figure, its unit, and its path in the document of a report's backend.  A figure that
# is a metric has the metric's name.
_FIGURES: tuple[tuple[str, _Unit, tuple[str, ...]], ...] = (
    ("flops", "count", ("cost", "flops")),
    ("transcendentals", "count", ("cost", "transcendentals")),
    ("bytes", "bytes", ("cost", "bytes")),
    ("operations", "count", ("cost", "operations")),
    ("collective bytes", "bytes", ("cost", "collective_bytes")),
    ("argument-memory", "bytes", ("memory", "arguments")),
    ("result-memory", "bytes", ("memory", "results")),
    ("temporary-memory", "bytes", ("memory", "temporaries")),
    ("constants", "bytes", ("memory", "constants")),
    ("peak-memory", "bytes", ("memory", "peak")),
    ("allocated memory", "bytes", ("memory", "allocated")),
    ("bound on memory of kernels", "bytes", ("memory", "workspace_bound")),
    ("estimated-time", "seconds", ("estimate", "seconds")),
    ("flops of each device", "count", ("each_device", "flops")),
    ("bytes of each device", "bytes", ("each_device", "bytes")),
    ("devices", "count", ("devices",)),
)


def figure_changes(one: Mapping[str, Any], other: Mapping[str, Any]) -> tuple[FigureChange, ...]:
    """Return the figures that differ between two reports, or that only one has.

    >>> figure_changes({"cost": {"flops": 8}}, {"cost": {"flops": 12}})[0].ratio
    1.5
    """
    pairs = [
        *((name, unit, _at(one, path), _at(other, path)) for name, unit, path in _FIGURES),
        *_collectives(one, other),
    ]
    return tuple(
        _changed(name, unit, before, after)
        for name, unit, before, after in pairs
        if before != after
    )


class _Amount(NamedTuple):
    """A figure of one side; a lower bound if `is_least`, with the upper bound `most` if known."""

    value: float | None
    is_least: bool = False
    most: float | None = None


def _changed(name: str, unit: _Unit, before: _Amount, after: _Amount) -> FigureChange:
    sides: dict[SideName, _Amount] = {"before": before, "after": after}
    bounds = tuple(key for key, side in sides.items() if side.is_least)
    ratio = None
    if before.value and after.value is not None and not bounds:
        ratio = after.value / before.value
    known_bounds = {key: side.most for key, side in sides.items() if side.most is not None}
    return FigureChange(name, unit, before.value, after.value, ratio, bounds, known_bounds)


def _collectives(
    one: Mapping[str, Any], other: Mapping[str, Any]
) -> Iterator[tuple[str, _Unit, _Amount, _Amount]]:
    """Yield the number and the bytes of collectives along each axis, if both sides have them."""
    before, after = _by_axes(one), _by_axes(other)
    if before is None or after is None:
        return
    for axes in dict.fromkeys((*before, *after)):
        rows = [side.get(axes, {"calls": 0, "bytes": 0}) for side in (before, after)]
        calls, sizes = (
            [_Amount(row[key], bool(row.get("loops"))) for row in rows]
            for key in ("calls", "bytes")
        )
        yield f"collectives along {axes}", "count", calls[0], calls[1]
        yield f"bytes along {axes}", "bytes", sizes[0], sizes[1]


def _by_axes(document: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the sums of a report's collectives by the text of their axes; None if it has none."""
    rows = document.get("axes")
    return None if rows is None else {axes_text(row["axes"]): row for row in rows}


def figure_text(figure: FigureChange) -> tuple[str, str, str]:
    """Return the texts of a changed figure: before, after, and the change.

    >>> figure_text(figure_changes({"cost": {"flops": 8}}, {"cost": {"flops": 12}})[0])
    ('8', '12', '+50.0%')
    """
    before = _side_text(figure, "before", figure.before)
    return before, _side_text(figure, "after", figure.after), change(figure.ratio)


def _side_text(figure: FigureChange, side: SideName, value: float | None) -> str:
    """Return the text of the figure of a side, with its bounds.

    Example: "at least 1.00 KiB, at most 2.00 KiB".
    """
    shown = _UNITS[figure.unit]
    least = "at least " if side in figure.at_least else ""
    most = figure.at_most.get(side)
    return least + shown(value) + ("" if most is None else f", at most {shown(most)}")


def _at(document: Mapping[str, Any], path: tuple[str, ...]) -> _Amount:
    """Return a figure of a document; a lower bound if its part of the document has unknowns.

    Memory is also a lower bound if kernels allocate more, up to `workspace_bound`.  A figure of the
    program's cost is never a lower bound; it is None if unknown.
    """
    value: Any = document
    part: Mapping[str, Any] = {}
    for key in path:
        if not isinstance(value, Mapping) or key not in value:
            return _Amount(None)
        part, value = value, value[key]
    if not isinstance(value, int | float):
        return _Amount(None)
    workspace = part.get("workspace_bound") or 0
    if path[0] == "memory" and path[-1] in _WITHOUT_WORKSPACE and workspace:
        return _Amount(value, True, value + workspace)
    return _Amount(value, path[0] != "cost" and bool(part.get("unknown")))
