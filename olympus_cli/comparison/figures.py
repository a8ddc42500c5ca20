"""How the figures of two programs differ: cost, memory and time, from their reports.

The figures are looked up in the JSON form of a report, so that a report without one of them is
compared by the others.  Of a program that was not built the cost alone is known.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from olympus_cli.reports.text import axes_text
from olympus_cli.units import byte_size, change, count, duration

__all__ = ["figure_changes", "figure_text"]

_UNITS: dict[str, Callable[[float | None], str]] = {
    "count": count,
    "bytes": byte_size,
    "seconds": duration,
}

# A figure's name, its unit, and where it stands in the document of a report's backend.
_FIGURES = (
    ("flops", "count", ("cost", "flops")),
    ("transcendentals", "count", ("cost", "transcendentals")),
    ("bytes", "bytes", ("cost", "bytes")),
    ("operations that run", "count", ("cost", "operations")),
    ("collective bytes", "bytes", ("cost", "collective_bytes")),
    ("argument memory", "bytes", ("memory", "arguments")),
    ("result memory", "bytes", ("memory", "results")),
    ("temporary memory", "bytes", ("memory", "temporaries")),
    ("constants", "bytes", ("memory", "constants")),
    ("peak memory", "bytes", ("memory", "peak")),
    ("allocated memory", "bytes", ("memory", "allocated")),
    ("estimated time", "seconds", ("estimate", "seconds")),
    ("flops of each device", "count", ("each_device", "flops")),
    ("bytes of each device", "bytes", ("each_device", "bytes")),
    ("devices", "count", ("devices",)),
)


def figure_changes(one: Mapping[str, Any], other: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The figures that both have and that differ, or that one alone knows.

    `ratio` is the second's in parts of the first's; None where one is not known or the first is 0.

    >>> figure_changes({"cost": {"flops": 8}}, {"cost": {"flops": 12}})
    [{'name': 'flops', 'unit': 'count', 'before': 8, 'after': 12, 'ratio': 1.5}]
    """
    pairs = [
        *((name, unit, _at(one, path), _at(other, path)) for name, unit, path in _FIGURES),
        *_collectives(one, other),
    ]
    return [
        {
            "name": name,
            "unit": unit,
            "before": before,
            "after": after,
            "ratio": after / before if before and after is not None else None,
        }
        for name, unit, before, after in pairs
        if before != after
    ]


def _collectives(
    one: Mapping[str, Any], other: Mapping[str, Any]
) -> Iterator[tuple[str, str, float | None, float | None]]:
    """The number and the bytes of the collectives along each axis, where both sides tell them."""
    before, after = _by_axes(one), _by_axes(other)
    if before is None or after is None:
        return
    for axes in dict.fromkeys((*before, *after)):
        rows = [side.get(axes, {"calls": 0, "bytes": 0}) for side in (before, after)]
        yield f"collectives along {axes}", "count", rows[0]["calls"], rows[1]["calls"]
        yield f"bytes along {axes}", "bytes", rows[0]["bytes"], rows[1]["bytes"]


def _by_axes(document: Mapping[str, Any]) -> dict[str, Any] | None:
    """The sums of a report's collectives by the text of their axes; None where it has none."""
    rows = document.get("axes")
    return None if rows is None else {axes_text(row["axes"]): row for row in rows}


def figure_text(figure: Mapping[str, Any]) -> tuple[str, str, str]:
    """A changed figure for people: before, after, and by how much.

    >>> figure_text(figure_changes({"cost": {"flops": 8}}, {"cost": {"flops": 12}})[0])
    ('8', '12', '+50.0%')
    """
    shown = _UNITS[figure["unit"]]
    return shown(figure["before"]), shown(figure["after"]), change(figure["ratio"])


def _at(document: Mapping[str, Any], path: tuple[str, ...]) -> float | None:
    found: Any = document
    for key in path:
        if not isinstance(found, Mapping) or key not in found:
            return None
        found = found[key]
    return found if isinstance(found, int | float) else None
