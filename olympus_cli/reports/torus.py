"""A program's TPU topology, and the assignment of mesh axes to its physical axes, as text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

_NAMES = "xyz"
_MAX_ROWS, _MAX_COLUMNS = 4, 16  # chips in the drawing


@dataclass(frozen=True)
class TorusReport:
    """A TPU topology, and the physical axes of each mesh axis.

    `sizes` are the numbers of chips along the physical axes x, y and z, and `wraps` is True for the
    axes with wrap-around links.  For each mesh axis, `axes` has the names of its physical axes, and
    the number of positions that it uses along each.  The physical axis "core" is the cores of a
    chip.
    """

    name: str
    sizes: tuple[int, ...]
    wraps: tuple[bool, ...]
    devices_per_chip: int
    axes: Mapping[str, Mapping[str, int]]


def axis_name(position: int) -> str:
    """Return the name of the physical axis at `position`: x, y or z, then core."""
    return _NAMES[position] if position < len(_NAMES) else "core"


def torus_rows(torus: TorusReport) -> Iterator[tuple[str, str]]:
    """Yield (name, text) rows of a report: the topology, the mesh axes, then a drawing of chips."""
    sizes = " x ".join(map(str, torus.sizes))
    rings = [_NAMES[i] for i, wraps in enumerate(torus.wraps) if wraps]
    links = f"wrap-around links along {', '.join(rings)}" if rings else "no wrap-around links"
    yield "topology", f"{torus.name}, {sizes} chips, {links}"
    for axis, physical in torus.axes.items():
        yield "mesh axis", f"{axis} along {_physical_text(physical)}"
    for i, line in enumerate(_drawing(torus)):
        yield "" if i else "chips", line


def _physical_text(physical: Mapping[str, int]) -> str:
    """Return the text of the physical axes of a mesh axis, such as "x (4) and core (2)"."""
    return " and ".join(f"{name} ({size})" for name, size in physical.items()) or "no axis"


def _drawing(torus: TorusReport) -> Iterator[str]:
    """Yield the lines of a drawing of the first plane of chips.

    The axis x runs down, and y runs to the right; ~ marks a wrap-around link along y.
    """
    rows, columns = torus.sizes[0], torus.sizes[1]
    ring = "~" if torus.wraps[1] else " "
    shown = min(columns, _MAX_COLUMNS)
    more = " ..." if shown < columns else ""
    for row in range(min(rows, _MAX_ROWS)):
        yield ring + "-".join(["o"] * shown) + more + ring
        if row < min(rows, _MAX_ROWS) - 1:
            yield " " + " ".join(["|"] * shown)
    if rows > _MAX_ROWS:
        yield f" ... {rows} rows"
    notes = ["x goes down, y to the right"]
    if len(torus.sizes) > 2 and torus.sizes[2] > 1:
        notes.append(f"{torus.sizes[2]} such planes along z")
    if torus.devices_per_chip > 1:
        notes.append(f"{torus.devices_per_chip} devices in a chip")
    yield f" ({'; '.join(notes)})"
