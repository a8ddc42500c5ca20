"""The groups of devices of a collective in an optimized program.

The compiler writes them in one of three forms: a list of groups, the shape and the order of a grid
that is cut into rows, or the axes of a mesh. The numbers of fields are those of xla_data.proto and
of xla/service/hlo.proto.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from olympus_core.xla.proto.wire import Message, damaged

#: the operations by which devices send each other something
COLLECTIVES = frozenset(
    [
        *("all-reduce", "all-gather", "reduce-scatter", "all-to-all", "ragged-all-to-all"),
        *("collective-permute", "collective-broadcast"),
    ]
)
#: the numbers of devices of each group
Groups = tuple[tuple[int, ...], ...]

_LISTED, _OF_LIST, _PAIRS, _GRID, _MESH = 49, 87, 52, 92, 93
_MAX = 2**20  # devices: limits the memory for a damaged program


def groups_of(message: Message) -> Groups:
    """Return the groups of an instruction; () if one group has all devices.

    Raises:
      ArtifactError: the groups are damaged.
    """
    if (mesh := message.message(_MESH)) is not None:
        return _of_mesh(mesh)
    if (grid := message.message(_GRID)) is not None:
        return _of_grid(grid)
    groups_message = message.message(_OF_LIST)
    if groups_message is not None and (grid := groups_message.message(2)) is not None:
        return _of_grid(grid)
    listed = message.messages(_LISTED) if groups_message is None else groups_message.messages(1)
    return tuple(m.integers(1) for m in listed if m.integers(1))


def pairs_of(message: Message) -> Groups:
    """Return the pairs of devices of a permutation, the sender and the receiver."""
    return tuple((m.integer(1), m.integer(2)) for m in message.messages(_PAIRS))


def _of_grid(message: Message) -> Groups:
    """Rows of as many devices as `per` of a grid in another order of its dimensions."""
    count, per = message.integer(1), message.integer(2)
    ids = _ordered(message.integers(3), message.integers(4))
    if count < 1 or per < 1 or ids.size != count * per:
        raise damaged("its groups of devices do not fit their grid")
    return _rows(ids.reshape(count, per))


def _of_mesh(message: Message) -> Groups:
    """Return the groups of devices along some axes, or parts of axes, of a mesh."""
    mesh = message.message(1)
    sizes = [axis.integer(2) for axis in mesh.messages(1)] if mesh is not None else []
    if mesh is None or not 1 <= math.prod(sizes) <= _MAX:
        raise damaged("its groups of devices have no mesh")
    ids = _mesh_ids(mesh, math.prod(sizes))
    # the parts into which the references cut each axis, with a mark for the chosen ones
    parts: list[tuple[int, bool]] = []
    references = [(m.integer(1), m.message(2)) for m in message.messages(2)]
    for number, size in enumerate(sizes):
        cuts = [(0, 0) if sub is None else (sub.integer(1), sub.integer(2)) for n, sub in references
                if n == number]  # fmt: skip
        parts += _cut(size, cuts)
    if math.prod(size for size, _ in parts) != ids.size:
        raise damaged("its groups of devices do not fit their mesh")
    grid = ids.reshape([size for size, _ in parts])
    group_dims = [i for i, (_, is_referenced) in enumerate(parts) if is_referenced]
    other_dims = [i for i, (_, is_referenced) in enumerate(parts) if not is_referenced]
    per = math.prod(parts[i][0] for i in group_dims)
    return _rows(grid.transpose([*other_dims, *group_dims]).reshape(-1, per))


def _cut(size: int, cuts: Sequence[tuple[int, int]]) -> list[tuple[int, bool]]:
    """Return the parts of an axis, the major one first: the size, and True if a reference names it.

    A reference is the size of the parts before its part and the size of the part; 0 for both is the
    whole axis.
    """
    parts, covered = [], 1
    for before, own in sorted((b or 1, n or size) for b, n in cuts):
        if before % covered or before < covered:
            raise damaged("its groups of devices overlap")
        parts += [(before // covered, False), (own, True)]
        covered = before * own
    if size % covered:
        raise damaged("its groups of devices do not divide an axis")
    return [*parts, (size // covered, False)]


def _mesh_ids(mesh: Message, count: int) -> np.ndarray[tuple[int, ...], np.dtype[np.int64]]:
    if (grid := mesh.message(3)) is not None:
        return _ordered(grid.integers(1), grid.integers(2)).reshape(-1)
    if listed := mesh.integers(2):
        return np.array(listed, np.int64)
    return np.arange(count, dtype=np.int64)


def _ordered(
    sizes: Sequence[int], order: Sequence[int]
) -> np.ndarray[tuple[int, ...], np.dtype[np.int64]]:
    """Return the numbers of a grid of `sizes`, its dimensions in another order."""
    if not sizes or not 1 <= math.prod(sizes) <= _MAX or min(sizes) < 1:
        raise damaged("the grid of its devices has no size")
    if order and sorted(order) != [*range(len(sizes))]:
        raise damaged("the grid of its devices has no order")
    grid = np.arange(math.prod(sizes), dtype=np.int64).reshape(sizes)
    return grid.transpose(order) if order else grid


def _rows(grid: np.ndarray[tuple[int, ...], np.dtype[np.int64]]) -> Groups:
    return tuple(tuple(map(int, row)) for row in grid)
