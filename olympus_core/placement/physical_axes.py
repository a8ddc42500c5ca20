"""Assign the axes of a mesh to the physical axes of a torus of devices.

A collective along a mesh axis uses the links of the physical axes that the axis is assigned to, so
each mesh axis gets whole physical axes if possible, the last mesh axis first: by the convention of
JAX's `make_mesh` it has the most traffic.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

#: For each mesh axis, the physical axes and the size of the part of each, in order.
Assignment = tuple[tuple[tuple[int, int], ...], ...]


def assign_axes(mesh: Sequence[int], physical: Sequence[int]) -> Assignment | None:
    """Return the physical axes of each mesh axis, or None if there is no assignment.

    A mesh axis gets the combination with the most physical axes, because a collective along several
    rings is faster. A physical axis is split among mesh axes only if no combination of
    whole axes has the size of a mesh axis.

    Example:
      >>> assign_axes((2, 8), (4, 4))
      (((0, 2),), ((0, 2), (1, 4)))
      >>> assign_axes((4, 4), (4, 4))
      (((0, 4),), ((1, 4),))
    """
    if math.prod(mesh) != math.prod(physical):
        return None
    left = list(physical)
    parts: list[tuple[tuple[int, int], ...]] = [()] * len(mesh)
    for axis in reversed(range(len(mesh))):
        chosen = _whole(mesh[axis], left) or _parts(mesh[axis], left)
        if chosen is None:
            return None
        for physical_axis, size in chosen:
            left[physical_axis] //= size
        parts[axis] = chosen
    return tuple(parts)


def _whole(size: int, left: Sequence[int]) -> tuple[tuple[int, int], ...] | None:
    """Return unused physical axes with the total size `size`, or None."""
    free = [i for i, n in enumerate(left) if n > 1]
    for count in range(len(free), -1, -1):
        for axes in reversed([*itertools.combinations(free, count)]):
            if math.prod(left[i] for i in axes) == size:
                return tuple((i, left[i]) for i in axes)
    return None


def _parts(size: int, left: Sequence[int]) -> tuple[tuple[int, int], ...] | None:
    """Return parts of physical axes, each as large as possible, the last axis first, or None."""
    chosen, rest = [], size
    for axis in reversed(range(len(left))):
        part = math.gcd(rest, left[axis])
        if part > 1:
            chosen.append((axis, part))
            rest //= part
    return tuple(reversed(chosen)) if rest == 1 else None


def device_order(mesh: Sequence[int], physical: Sequence[int]) -> npt.NDArray[np.int64]:
    """Return the position on the torus of each device of a mesh, in row-major order of the mesh.

    A position is an index in the row-major order of `physical`. If the axes cannot be assigned, the
    devices are in this order.

    >>> device_order((2, 2), (2, 2)).tolist()
    [0, 1, 2, 3]
    """
    assignment = assign_axes(mesh, physical)
    positions = np.arange(math.prod(mesh))
    if assignment is None:
        return positions
    # each physical axis becomes its parts, the first mesh axis with the slowest; then they move
    split: list[int] = []
    place: dict[tuple[int, int], int] = {}
    for axis, size in enumerate(physical):
        owners = [m for m, parts in enumerate(assignment) for i, _ in parts if i == axis]
        sizes = [n for m, parts in enumerate(assignment) for i, n in parts if i == axis]
        for owner, n in zip(owners, sizes, strict=True):
            place[owner, axis] = len(split)
            split.append(n)
        if not owners and size > 1:
            return positions
    grid = positions.reshape(split)
    order = [place[m, i] for m, parts in enumerate(assignment) for i, _ in parts]
    return grid.transpose(order).reshape(-1)


def positions_along(mesh: Sequence[int], places: Sequence[tuple[int, ...]]) -> list[dict[int, int]]:
    """Return the number of positions of each mesh axis on the physical axes along which it goes.

    `places` are the positions on the torus of the devices of a mesh, in its row-major order.

    >>> positions_along((2, 2), [(0, 0), (0, 1), (1, 0), (1, 1)])
    [{0: 2}, {1: 2}]
    """
    grid = np.array(places).reshape(*mesh, -1)
    axes = []
    for axis, size in enumerate(mesh):
        line = np.moveaxis(grid, axis, 0).reshape(size, -1, grid.shape[-1])[:, 0]
        counts = [len(set(column.tolist())) for column in line.T]
        axes.append({at: n for at, n in enumerate(counts) if n > 1})
    return axes
