"""From a parsed index to the dimension numbers of a gather or a scatter.

Shapes and entries (see `index_parsing`) enter; a Plan, which is hashable and holds everything
static, and the arrays of coordinates leave.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from olympus_core import dtypes
from olympus_core.avals import Shape, get_aval
from olympus_core.errors import ShapeError
from olympus_core.library.lax.shape import broadcast_in_dim, iota
from olympus_core.library.lax.slicing import concatenate, wrapped
from olympus_core.library.numpy.index_parsing import Span
from olympus_core.library.promotion import broadcast_shapes
from olympus_core.primitives.elementwise.arithmetic import add_p, mul_p
from olympus_core.primitives.gather import GatherDimensionNumbers, ScatterDimensionNumbers

__all__ = ["Plan", "coordinates", "make_plan"]


class Column(NamedTuple):
    """The coordinates along one axis of the array: `source` is an int, a Span, or None where
    they come as an array; they vary along the indices' axes that end before `stop`."""

    axis: int
    source: int | Span | None
    stop: int


class Plan(NamedTuple):
    """How to gather or scatter.

    `batch` is the indices' shape but for its last axis, `shape` that of what is read or written,
    `new_axes` those of its axes that the array knows nothing of; `ordered` says that the
    coordinates are sorted and distinct.
    """

    columns: tuple[Column, ...]
    batch: Shape
    offset_dims: tuple[int, ...]
    collapsed: tuple[int, ...]
    sizes: Shape
    shape: Shape
    new_axes: tuple[int, ...]
    ordered: bool

    def gather_numbers(self) -> GatherDimensionNumbers:
        """The dimension numbers of a gather."""
        mapped = tuple([c.axis for c in self.columns])
        return GatherDimensionNumbers(self.offset_dims, self.collapsed, mapped)

    def scatter_numbers(self) -> ScatterDimensionNumbers:
        """The dimension numbers of a scatter."""
        return ScatterDimensionNumbers(*self.gather_numbers())


def _joint_shape(arrays: Sequence[Any]) -> Shape:
    shapes = [a.shape for a in arrays]
    try:
        return broadcast_shapes(*shapes)
    except ShapeError:
        text = ", ".join(map(str, shapes))
        raise ShapeError(f"index arrays of shapes {text} do not broadcast together") from None


def make_plan(entries: Sequence[Any], block: int, shape: Shape) -> tuple[Plan, list[Any]]:
    """Plan an index of an array of the given shape; the second result is the arrays in it.

    Raises ShapeError where index arrays do not fit together.
    """
    arrays = [e for e in entries if _is_coordinate(e) and e.__class__ is not int]
    joint = _joint_shape(arrays) if arrays else ()
    outs = [e for e in entries if e is None or e.__class__ is Span]
    walk = _Walk(joint)
    for n, out in enumerate(outs):
        if n == block:
            walk.add_joint()
        walk.add(out)
    if block >= len(outs):
        walk.add_joint()
    return walk.plan(entries, shape), arrays


def _is_coordinate(e: Any) -> bool:
    return e is not None and e.__class__ is not Span


class _Walk:
    """A walk over the result's axes, that sorts them into batch, window and new ones."""

    def __init__(self, joint: Shape) -> None:
        self.joint = joint
        self.joint_stop = 0
        self.batch: list[int] = []
        self.shape: list[int] = []
        self.offset: list[int] = []
        self.new_axes: list[int] = []
        self.stepped: list[int] = []  # where each stepped slice's indices end in the batch

    def add_joint(self) -> None:
        """Add the axes that index arrays have together."""
        self.batch += self.joint
        self.shape += self.joint
        self.joint_stop = len(self.batch)

    def add(self, out: Any) -> None:
        """Add a slice's axis, or a new one."""
        self.shape.append(1 if out is None else out.size)
        if out is None:
            self.new_axes.append(len(self.shape) - 1)
        elif out.step == 1:
            self.offset.append(len(self.shape) - 1 - len(self.new_axes))
        else:
            self.batch.append(out.size)
            self.stepped.append(len(self.batch))

    def plan(self, entries: Sequence[Any], shape: Shape) -> Plan:
        """The plan, given the entries in their own order."""
        columns, sizes, collapsed = [], [], []
        stepped = iter(self.stepped)
        for axis, e in enumerate([e for e in entries if e is not None]):
            if e.__class__ is Span and e.step == 1:
                sizes.append(e.size)
                if e.size != shape[axis]:
                    columns.append(Column(axis, e.start, 0))
                continue
            sizes.append(1)
            collapsed.append(axis)
            if e.__class__ is Span:
                columns.append(Column(axis, e, next(stepped)))
            else:
                columns.append(Column(axis, e if e.__class__ is int else None, self.joint_stop))
        spans = [c.source for c in columns if isinstance(c.source, Span)]
        return Plan(
            columns=tuple(columns),
            batch=tuple(self.batch),
            offset_dims=tuple(self.offset),
            collapsed=tuple(collapsed),
            sizes=tuple(sizes),
            shape=tuple(self.shape),
            new_axes=tuple(self.new_axes),
            ordered=not self.joint and all(s.step > 0 for s in spans),
        )


def coordinates(plan: Plan, arrays: Sequence[Any], shape: Shape, wrap: bool) -> Any:
    """The array of coordinates that a plan's gather or scatter takes.

    Negative ones count from the end of their axis if `wrap`.
    """
    dtype = np.dtype("int64" if max(shape, default=0) > 2**31 - 1 else "int32")
    rest = iter(arrays)
    values = []
    for column in plan.columns:
        source = next(rest) if column.source is None else column.source
        values.append(_values(source, shape[column.axis], dtype, wrap))
    stops = [c.stop for c in plan.columns]
    if all(isinstance(v, (np.ndarray, np.generic)) for v in values):
        return _stack_on_host(values, stops, plan.batch)
    target = (*plan.batch, 1)
    parts = [
        broadcast_in_dim(v, target, tuple(range(stop - get_aval(v).ndim, stop)))
        for v, stop in zip(values, stops, strict=True)
    ]
    return concatenate(parts, len(plan.batch))


def _stack_on_host(values: list[Any], stops: list[int], batch: Shape) -> np.ndarray[Any, Any]:
    rank = len(batch)
    if not values:
        return np.zeros((*batch, 0), np.int32)
    aligned = [
        v.reshape(v.shape + (1,) * (rank - s if v.ndim else 0))
        for v, s in zip(values, stops, strict=True)
    ]
    return np.stack([np.broadcast_to(v, batch) for v in aligned], axis=-1)


def _values(source: Any, length: int, dtype: dtypes.DType, wrap: bool) -> Any:
    if source.__class__ is Span:
        counted = iota(dtype, source.size)
        scaled = mul_p.bind(counted, dtype.type(source.step))
        return add_p.bind(scaled, dtype.type(source.start)) if source.start else scaled
    if isinstance(source, np.ndarray):
        low = source + (source < 0) * length if wrap and source.dtype.kind == "i" else source
        return low.astype(dtype)
    return wrapped(source, length, dtype, wrap)
