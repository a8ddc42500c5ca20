"""Convert axis names to the replica groups of collectives, and replica groups to axis names."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from olympus_core.ir.trace import Axes
from olympus_core.mlir import bindings as mlir

if TYPE_CHECKING:
    from olympus_core.lowering.module import LoweringContext
    from olympus_core.lowering.module_state import Manual
    from olympus_core.raising.stablehlo_operation import StableHloOperation

#: a channel among devices; the type is 0 in a program that was HLO
_CHANNEL = re.compile(r"#stablehlo\.channel_handle<handle = \d+, type = [01]>")
#: groups along axes of a mesh, which JAX writes from jaxlib 0.12 on
_NAMED = re.compile(r"#stablehlo\.replica_group_mesh_axes<mesh = @([\w.-]+), axes = \[(.*)\]>")
_AXIS = re.compile(r'#stablehlo\.axis_ref<name = "([^"]*)">')


def replica_groups(
    axes: Axes, names: Sequence[Any], within: Sequence[Sequence[int]] | None = None
) -> np.ndarray[Any, Any]:
    """Return the replica groups of a collective over the axes `names`, one row for each group.

    Replicas are numbered in row-major order of `axes`, and ordered in a group by `names`. `within`
    splits each group: each of its lists of positions in the group becomes a row, and -1 fills the
    shorter rows.
    """
    sizes = [size for _, size in axes]
    places = [[name for name, _ in axes].index(n) for n in names]
    every = np.arange(math.prod(sizes), dtype=np.int64).reshape(sizes)
    rows = np.moveaxis(every, places, range(len(places)))
    rows = rows.reshape(math.prod(sizes[p] for p in places), -1).T
    if within is None:
        return rows
    length = max(map(len, within))
    filled = np.array([[*positions, *[-1] * (length - len(positions))] for positions in within])
    return np.where(filled < 0, -1, rows[:, filled]).reshape(-1, length)


def grouped(
    ctx: LoweringContext, groups: np.ndarray[Any, Any], *, by_device: bool = True, **numbers: int
) -> dict[str, Any]:
    """Return the attributes of a collective: among devices in a manual body, else among replicas.

    Most operations need `use_global_device_ids`; others (`by_device` False) need only a channel.
    """
    channel = channel_of(ctx)
    if channel and by_device:
        channel["use_global_device_ids"] = mlir.unit_attr()
    integers = {name: mlir.i64_attr(value) for name, value in numbers.items()}
    return {"replica_groups": mlir.dense(groups), **integers, **channel}


def channel_of(ctx: LoweringContext) -> dict[str, Any]:
    """Return the attribute of a collective among devices; empty for a collective among replicas."""
    if ctx.manual is None:
        return {}
    return {"channel_handle": mlir.parsed_attr("#stablehlo.channel_handle<handle = 1, type = 1>")}


def group_axes(operation: StableHloOperation, *, by_device: bool = True) -> tuple[Any, ...] | None:
    """Return the manual axes of a collective among devices, the major axis first, otherwise None.

    None is also returned if the groups are not along axes of the mesh. Most operations number
    devices only with `use_global_device_ids`; others (`by_device` False) always number devices.
    """
    manual, groups = operation.manual, operation.matrix("replica_groups")
    if manual is None or not _is_among_devices(operation, by_device):
        return None
    if groups is None:
        return _named_axes(operation, manual)
    rows = sorted(map(tuple, groups.tolist()))
    for names in _subsets(manual):
        own = replica_groups(manual.mesh.shape_tuple, names)
        if sorted(map(tuple, own.tolist())) == rows:
            return names
    return None


def _named_axes(operation: StableHloOperation, manual: Manual) -> tuple[Any, ...] | None:
    """Return the axes that an operation names as its groups, or None for parts of axes."""
    named = _NAMED.fullmatch(operation.text("replica_groups"))
    if named is None or operation.mesh(named[1]).shape_tuple != manual.mesh.shape_tuple:
        return None
    names = tuple([_AXIS.fullmatch(text) for text in named[2].split(", ")])
    found = tuple([name[1] for name in names if name is not None and name[1] in manual.names])
    return found if found and len(found) == len(names) else None


def permutation(
    operation: StableHloOperation,
) -> tuple[tuple[Any, ...], tuple[tuple[int, int], ...]] | None:
    """Return the manual axes of a permutation, in the order of the mesh, and its pairs along them.

    None is returned if the permutation is not the same for all indices of the other axes.
    """
    manual, pairs = operation.manual, operation.matrix("source_target_pairs")
    if manual is None or pairs is None or not _is_among_devices(operation, by_device=False):
        return None
    for names in _subsets(manual, ordered=True):
        groups = replica_groups(manual.mesh.shape_tuple, names)
        place = {n: (i, k) for i, row in enumerate(groups.tolist()) for k, n in enumerate(row)}
        rows: list[list[tuple[int, int]]] = [[] for _ in groups]
        for source, target in pairs.tolist():
            if place[source][0] != place[target][0]:
                break
            rows[place[source][0]].append((place[source][1], place[target][1]))
        else:
            if all({*row} == {*rows[0]} for row in rows):
                return names, tuple(rows[0])
    return None


def numbered_axis(operation: StableHloOperation) -> Any:
    """Return the manual axis with the index that an operation converts, otherwise None.

    The index of an axis is (device number // size of the minor axes) % size of the axis.
    """
    manual, chain = operation.manual, [operation.producer(0)]
    if manual is None:
        return None
    for name in ("remainder", "divide", "partition_id"):
        last = chain[-1]
        if last is None or last.name != f"stablehlo.{name}":
            return None
        if name != "partition_id":
            chain.append(last.producer(0))
    remainder, quotient = chain[:2]
    assert remainder is not None
    assert quotient is not None
    inner, own = quotient.constant(1), remainder.constant(1)
    axes = manual.mesh.shape_tuple
    for place, (axis, size) in enumerate(axes):
        after = math.prod(n for _, n in axes[place + 1 :])
        if (after, size) == (inner, own) and axis in manual.names:
            return axis
    return None


def _is_among_devices(operation: StableHloOperation, by_device: bool) -> bool:
    """Return True for a collective among the devices of a program, not among its replicas."""
    channel = _CHANNEL.fullmatch(operation.text("channel_handle"))
    numbered = not by_device or operation.attribute("use_global_device_ids") is not None
    return numbered and channel is not None


def _subsets(manual: Manual, ordered: bool = False) -> Iterator[tuple[Any, ...]]:
    """Yield the tuples of manual axes by length; with `ordered`, only tuples in mesh order."""
    names = [n for n in manual.mesh.axis_names if n in manual.names]
    choose = itertools.combinations if ordered else itertools.permutations
    for count in range(1, len(names) + 1):
        yield from choose(names, count)
