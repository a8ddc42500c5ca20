"""The sharding of an array: passed to a callback, or drawn as a table of the array's parts.

The compiler determines the sharding of a traced array, so it is reported when the program is
compiled.
"""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Callable, Sequence
from typing import Any

from olympus_core.arrays.device_array import DeviceArray
from olympus_core.base import tree
from olympus_core.base.avals import Shape, canonical_shape
from olympus_core.base.errors import ArgumentError
from olympus_core.ir import trace
from olympus_core.library.promotion import check_arrays
from olympus_core.placement.sharding import Sharding
from olympus_core.primitives.inspection import Inspection, inspect_sharding_p

#: the number of columns of text that are as wide as a line is high
_ASPECT = 2.5
#: the number of lines of a drawing at scale 1
_LINES = 10
_MAX = 100  # the greatest scale
_PLAIN = str.maketrans("─│┌┐└┘├┤┬┴┼", "-|+++++++++")


def inspect_array_sharding(value: Any, *, callback: Callable[[Sharding], Any]) -> None:
    """Call `callback` with the sharding of each array of a tree.

    For a concrete array, the call is immediate.  For a traced one, `callback` is called each time
    that the program is compiled, and not when it is lowered, run or loaded.  Under `vmap` the array
    has the mapped axis too.  Under `shard_map` it is a device's own part, whole along the mapped
    axes.  Several arrays may come in any order, and an array that the program computes at several
    places more than once.  The calls follow the compilation, in the thread that compiles, and
    exceptions in `callback` propagate there.

    Raises ArgumentError for a callback that cannot be called and, outside of a traced function, for
    a value that is not an array; DTypeError for a traced value that is neither array nor scalar.

    >>> rows = NamedSharding(make_mesh((2,), ("data",)), P("data"))
    >>> inspect_array_sharding(device_put(numpy.arange(8.0), rows), callback=print)
    NamedSharding(mesh=Mesh('data': 2, axis_types=(Auto,)), spec=P('data',), memory_kind=device)
    """
    if not callable(callback):
        raise ArgumentError(
            f"inspect_array_sharding calls its callback with a sharding, and got {callback!r:.80}"
        )
    _inspect("inspect_array_sharding", value, Inspection.of(callback))


def _inspect(name: str, value: Any, inspection: Inspection) -> None:
    leaves = tree.leaves(value)
    if not trace.at_base():
        check_arrays(name, *leaves)
    for leaf in leaves:
        if trace.at_base() and not isinstance(leaf, DeviceArray):
            raise ArgumentError(
                f"inspect_array_sharding needs an array, and got {leaf!r:.80}",
                hint="put it on the devices with device_put",
            )
        inspect_sharding_p.bind(leaf, callback=inspection)


def visualize_array_sharding(
    arr: Any,
    *,
    use_color: bool = False,
    scale: float = 1.0,
    min_width: int = 9,
    max_width: int = 80,
) -> None:
    """Print a table of the parts of an array of 1 or 2 dimensions, and the devices of each part.

    A traced array is drawn when its program is compiled, with the axes that `vmap` maps over; in
    `shard_map`, it is the part of one device.  The options and errors are those of
    `visualize_sharding` and `inspect_array_sharding`.

    >>> rows = NamedSharding(make_mesh((2,), ("data",)), P("data"))
    >>> visualize_array_sharding(device_put(numpy.arange(8.0), rows))
    ┌───────┬───────┐
    │ CPU 0 │ CPU 1 │
    └───────┴───────┘
    """

    def show(shape: Shape, sharding: Sharding) -> None:
        visualize_sharding(
            shape,
            sharding,
            use_color=use_color,
            scale=scale,
            min_width=min_width,
            max_width=max_width,
        )

    _inspect("visualize_array_sharding", arr, Inspection(show, "visualize_array_sharding"))


def visualize_sharding(
    shape: Sequence[int],
    sharding: Sharding,
    *,
    use_color: bool = False,
    scale: float = 1.0,
    min_width: int = 9,
    max_width: int = 80,
) -> None:
    """Print a table of the parts into which a sharding splits an array, and the devices of each.

    An array of 1 dimension is a row.  One of 2 dimensions is `10 * scale` lines high, and as wide
    as its shape needs: at least `min_width` columns a part, and at most `max_width` in total.
    Labels that do not fit are broken at their commas.  The text is the text of JAX's function
    without colours, if that fits.

    Raises ArgumentError for an array of another rank or without elements, for a value that is not a
    sharding, for `use_color`, and for a scale or a width that is out of range, and ShardingError
    for a shape that the sharding cannot cut.

    >>> mesh = make_mesh((2, 2), ("data", "model"))
    >>> visualize_sharding((8, 8), NamedSharding(mesh, P("data", "model")), scale=0.5)
    ┌───────┬───────┐
    │ CPU 0 │ CPU 1 │
    ├───────┼───────┤
    │ CPU 2 │ CPU 3 │
    └───────┴───────┘
    """
    shape = canonical_shape(shape)
    if not isinstance(sharding, Sharding):
        raise ArgumentError(f"visualize_sharding needs a sharding, and got {sharding!r:.80}")
    if len(shape) not in (1, 2) or 0 in shape:
        raise ArgumentError(
            "`visualize_sharding` only works for shapes with 1 and 2 dimensions, which have "
            f"elements, and not for {shape}",
            hint="array.addressable_shards has the parts of an array of any shape",
        )
    if not 0 < scale <= _MAX or min(min_width, max_width) < 1:
        raise ArgumentError(
            f"visualize_sharding needs a scale above 0 and up to {_MAX}, and widths of 1 or more; "
            f"got scale={scale!r}, min_width={min_width!r}, max_width={max_width!r}"
        )
    if use_color:
        raise ArgumentError("visualize_sharding draws without colours", hint="leave out use_color")
    counts, labels = _labels(shape, sharding)
    rows, columns = (1, counts[0]) if len(counts) == 1 else counts
    lines = int(_LINES * scale)
    wide = int(lines * (shape[1] if len(shape) == 2 else 1) / shape[0])
    height = 1 if len(shape) == 1 else int(lines / rows)
    width = min(max(int(wide / columns * _ASPECT), min_width), max_width) - 2
    width = max(width, *map(len, labels))
    width = max(min(width, (max_width - 1) // columns - 1), 1)
    grid = [labels[i * columns : (i + 1) * columns] for i in range(rows)]
    _print("\n".join(_table(grid, width, height)) + "\n")


def _labels(shape: Sequence[int], sharding: Sharding) -> tuple[tuple[int, ...], list[str]]:
    """Return the parts along each dimension, and the label of each part, in row-major order."""
    sharding.check_shape(shape)
    counts, places = sharding.tiling(len(shape))
    devices_by_place: dict[tuple[int, ...], list[int]] = {}
    for place, device in zip(places, sharding.devices, strict=True):
        devices_by_place.setdefault(tuple(place), []).append(device.id)
    kind = sharding.devices[0].platform.upper()
    return counts, [
        f"{kind} {','.join(map(str, sorted(numbers)))}"
        for _, numbers in sorted(devices_by_place.items())
    ]


def _table(grid: Sequence[Sequence[str]], width: int, height: int) -> list[str]:
    """Return the lines of a table of cells of one size, or as high as their labels need."""

    def rule(left: str, between: str, right: str) -> str:
        return left + between.join(["─" * width] * len(grid[0])) + right

    lines = [rule("┌", "┬", "┐")]
    for i, row in enumerate(grid):
        if i:
            lines.append(rule("├", "┼", "┤"))
        cells = [_broken(label, width) for label in row]
        longest = max(map(len, cells))
        above = max(height - 1 - longest, 0) // 2
        below = max(height - 1 - longest - above, 0)
        for k in range(-above, longest + below):
            texts = [cell[k] if 0 <= k < len(cell) else "" for cell in cells]
            lines.append("│" + "│".join(_centred(text, width) for text in texts) + "│")
    return [*lines, rule("└", "┴", "┘")]


def _centred(text: str, width: int) -> str:
    left = (width - len(text)) // 2
    return " " * left + text + " " * (width - len(text) - left)


def _broken(label: str, width: int) -> list[str]:
    if len(label) <= width:
        return [label]
    spaced = label.replace(",", ", ")
    return [line.rstrip().replace(", ", ",") for line in textwrap.wrap(spaced, width)]


def _print(text: str) -> None:
    """Write a text to standard output, in ASCII if its encoding has no box-drawing characters."""
    try:
        text.encode(sys.stdout.encoding or "utf-8")
    except UnicodeEncodeError:
        text = text.translate(_PLAIN)
    sys.stdout.write(text)
