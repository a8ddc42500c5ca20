"""The slice of TPUs of a program: its topology, and the axes of the mesh on it, as text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

_NAMES = "xyz"
_MAX_ROWS, _MAX_COLUMNS = 4, 16  # chips in the drawing


@dataclass(frozen=True)
class TorusReport:
    """A slice of TPUs, and the physical axes of each axis of the mesh.

    `axes` has, for each axis of the mesh, the names of physical axes, x, y and z, or core for the
    cores of a chip, each with the number of positions that the axis has on it.
    """

    name: str
    sizes: tuple[int, ...]
    wraps: tuple[bool, ...]
    devices_per_chip: int
    axes: Mapping[str, Mapping[str, int]]


def axis_name(position: int) -> str:
    """Return the name of a physical axis, the last of which is that of a chip's cores."""
    return _NAMES[position] if position < len(_NAMES) else "core"


def torus_rows(torus: TorusReport) -> Iterator[tuple[str, str]]:
    """Yield the rows of a report, by name: the topology, the axes of the mesh, and a drawing."""
    sizes = " x ".join(map(str, torus.sizes))
    rings = [_NAMES[i] for i, wraps in enumerate(torus.wraps) if wraps]
    links = f"wrap-around links along {', '.join(rings)}" if rings else "no wrap-around links"
    yield "topology", f"{torus.name}, {sizes} chips, {links}"
    for axis, along in torus.axes.items():
        yield "mesh axis", f"{axis} along {_along(along)}"
    for i, line in enumerate(_drawing(torus)):
        yield "" if i else "chips", line


def _along(physical: Mapping[str, int]) -> str:
    return " and ".join(f"{name} ({size})" for name, size in physical.items()) or "no axis"


def _drawing(torus: TorusReport) -> Iterator[str]:
    """Yield the chips of the first plane: x goes down, y to the right, and ~ is a wrap-around."""
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
