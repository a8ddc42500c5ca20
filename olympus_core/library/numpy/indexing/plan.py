"""Parsing of `x[index]` to an entry for each axis, and planning of a gather or scatter.

`parse` returns the entries: an int (a static index), a `StaticSlice` (a slice), an integer array
(of rank 0 for a dynamic index), or None (a new axis).  It replaces ellipses, boolean masks and
scalar bools: masks must be known while tracing, and become the indices of their true elements.

`make_plan` returns a Plan, which is hashable and contains all static data: the dimension numbers
of a gather or a scatter.  `coordinates` returns the matching array of coordinates.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from olympus_core.arrays.device_array import array_to_numpy
from olympus_core.base import dtypes
from olympus_core.base.avals import Shape, get_aval, self_converted
from olympus_core.base.dimensions.expression import (
    SymbolicDim,
    is_symbolic_dim,
    known_at_least,
    symbolic_slice,
)
from olympus_core.base.errors import (
    DTypeError,
    InconclusiveDimensionOperation,
    IndexingError,
    NonConcreteBooleanIndexError,
    ShapeError,
)
from olympus_core.ir.tracer import Array, Tracer
from olympus_core.ir.typing import IndexLike
from olympus_core.library.lax.shape import broadcast_in_dim, iota
from olympus_core.library.lax.slicing import concatenate, host_indices, narrowed_on_host, wrapped
from olympus_core.library.numpy.creation.array import asarray
from olympus_core.library.promotion import broadcast_shapes
from olympus_core.primitives.elementwise.arithmetic import add_p, mul_p
from olympus_core.primitives.gather import GatherDimensionNumbers, ScatterDimensionNumbers

#: the classes of static indices
INTS: tuple[Any, ...] = (int, SymbolicDim)


class StaticSlice(NamedTuple):
    """A slice of known length: elements `start`, `start + step`, ..., `size` of them."""

    start: int
    size: int
    step: int


class Index(NamedTuple):
    """A parsed index.

    `block` is the position, among the result's axes, of the joint axes of the index arrays;
    `nothing` is True if the index contains a False, which selects nothing.
    """

    entries: list[Any]
    block: int
    nothing: bool


class _Mask(NamedTuple):
    value: np.ndarray[Any, Any]


def as_array(x: Any) -> Any:
    """Return a list or tuple, which may contain traced scalars, as an array; others unchanged."""
    if not isinstance(x, (list, tuple)):
        return x
    return asarray(x) if _holds_arrays(x) else np.asarray(x)


def _holds_arrays(x: Any) -> bool:
    return isinstance(x, Array) or (isinstance(x, (list, tuple)) and any(map(_holds_arrays, x)))


def _whole_index(index: Any) -> tuple[Any, ...]:
    if isinstance(index, tuple):
        return index
    if isinstance(index, Sequence) and not isinstance(index, str):
        is_tuple = any(isinstance(i, (slice, type(None), type(Ellipsis))) for i in index)
        form = "tuple" if is_tuple else "array"
        raise IndexingError(
            "Using a non-tuple sequence for multidimensional indexing is not allowed; use "
            f"`arr[{form}(seq)]` instead of `arr[seq]`. The index is a {type(index).__name__}",
            hint="write x[tuple(index)] for one index an axis, x[array(index)] for an array",
        )
    return (index,)


_PLAIN = (int, slice, type(None), type(Ellipsis))


def _classify(i: Any, position: int) -> Any:
    """Return an index as int, slice, None, Ellipsis, bool, integer array or mask."""
    if i.__class__ in _PLAIN or isinstance(i, (slice, bool)):
        return i
    if isinstance(i, (int, np.integer)):
        return int(i)
    if isinstance(i, (list, tuple)):
        i = as_array(i) if len(i) else np.zeros((0,), np.int64)
    elif isinstance(i, str):
        raise IndexingError(f"JAX does not support string indexing; got idx={i!r}")
    i = self_converted(i)
    try:
        kind = dtypes.kind(get_aval(i).dtype)
    except DTypeError:
        raise IndexingError(
            "only integers, slices (`:`), ellipsis (`...`), newaxis (`None`) and integer or "
            f"boolean arrays are valid indices. Got a {type(i).__name__} at position {position}"
        ) from None
    if kind == "b":
        return _mask(i)
    if kind not in "iu":
        raise IndexingError(
            "Indexer must have integer or boolean type, got indexer with type "
            f"{dtypes.long_name(get_aval(i).dtype)}: {get_aval(i).long_name()} "
            f"at position {position}"
        )
    return int(i) if isinstance(i, np.ndarray) and not i.shape else host_indices(i)


def _mask(i: Any) -> Any:
    if isinstance(i, Tracer):
        raise NonConcreteBooleanIndexError(
            f"Array boolean indices must be concrete; got {i.aval.long_name()}, which is "
            f"{i.origin()}: the number of its true elements is the result's shape",
            hint="use olympus.numpy.where(mask, x, y), which keeps the shape",
        )
    value = array_to_numpy(i)
    return _Mask(value) if value.shape else bool(value)


def _consumed(i: Any) -> int:
    """Return the number of axes of the array that an index is for."""
    if i.__class__ is _Mask:
        return int(i.value.ndim)
    return 0 if i is None or i is Ellipsis or i.__class__ is bool else 1


def parse(index: IndexLike, shape: Shape) -> Index:
    """Parse an index of an array of the given shape.

    Raises IndexingError for a value that is not an index, or has too many or mismatched parts.
    """
    raw = [
        i if i.__class__ in _PLAIN else _classify(i, position)
        for position, i in enumerate(_whole_index(index))
    ]
    used = sum([_consumed(i) for i in raw])
    if used > len(shape):
        raise IndexingError(
            f"Too many indices: array is {len(shape)}-dimensional, but {used} were indexed"
        )
    ellipses = [n for n, i in enumerate(raw) if i is Ellipsis]
    if len(ellipses) > 1:
        raise IndexingError("an index can only have a single ellipsis ('...')")
    entries: list[Any] = []
    starts: list[int] = []  # the position in `entries` of each raw index's first entry
    axis = 0
    for position, i in enumerate(raw):
        starts.append(len(entries))
        if i is Ellipsis:
            rest = shape[axis : axis + len(shape) - used]
            entries += [StaticSlice(0, n, 1) for n in rest]
            axis += len(rest)
        else:
            entries += _entries(i, shape, axis, position)
            axis += _consumed(i)
    entries += [StaticSlice(0, n, 1) for n in shape[axis:]]
    return _placed(raw, starts, entries)


def _entries(i: Any, shape: Shape, axis: int, position: int) -> list[Any]:
    if i.__class__ is slice:
        return [_span(i, shape[axis], position)]
    if i.__class__ is bool:
        return []
    if i.__class__ is not _Mask:
        return [i]
    expected = shape[axis : axis + i.value.ndim]
    if any(m not in (0, n) for m, n in zip(i.value.shape, expected, strict=True)):
        raise IndexingError(
            f"boolean index did not match shape of indexed array in index {position}: got "
            f"{i.value.shape}, expected {expected}"
        )
    return list(np.nonzero(i.value))


def _span(i: slice, length: int, position: int) -> StaticSlice:
    for bound in (i.start, i.stop, i.step):
        if isinstance(bound, Tracer):
            raise IndexingError(
                f"Slice entries must be static integers. Got {i} at position {position}, where "
                f"{bound.aval.long_name()} is {bound.origin()}",
                hint="use olympus.lax.dynamic_slice, which has a static size and a traced start",
            )
    try:
        if is_symbolic_dim(length) or any(map(is_symbolic_dim, (i.start, i.stop))):
            start, size, step = symbolic_slice(i, length)
        else:
            start, stop, step = i.indices(length)
            size = len(range(start, stop, step))
    except (InconclusiveDimensionOperation, ShapeError):
        raise
    except TypeError:
        raise IndexingError(f"the bounds of a slice are ints or None, and not {i!r}") from None
    except ValueError:
        raise ShapeError("the step of a slice cannot be zero") from None
    if is_symbolic_dim(size):
        return StaticSlice(start, size, step)
    return StaticSlice(start, size, step if size > 1 else 1) if size else StaticSlice(0, 0, 1)


def _is_advanced(i: Any) -> bool:
    return not (i is None or i is Ellipsis or i.__class__ is slice)


def _placed(raw: list[Any], starts: list[int], entries: list[Any]) -> Index:
    """Return the index with the position of the index arrays' axes, as NumPy places them.

    Ints and scalar bools count as index arrays if the index has an array.  Adjacent index arrays
    leave their axes in their position, others move them to the front.  Bools alone are an axis of
    length 1 at their position.
    """
    flags = [i for i in raw if i.__class__ is bool]
    arrays = any(_is_array(i) for i in entries)
    if not flags and not arrays:
        return Index(entries, 0, False)
    advanced = [n for n, i in enumerate(raw) if _is_advanced(i)]
    adjacent = advanced[-1] - advanced[0] + 1 == len(advanced)
    first = starts[advanced[0]] if adjacent else 0
    block = sum([e is None or e.__class__ is StaticSlice for e in entries[:first]])
    if not arrays:
        entries.insert(first, None)
    return Index(entries, block, not all(flags))


def _is_array(i: Any) -> bool:
    return (
        i is not None and i.__class__ not in INTS and i.__class__ is not StaticSlice and i.ndim > 0
    )


class AxisCoordinates(NamedTuple):
    """The coordinates along one axis of the array: `source` is an int, a StaticSlice, or None if
    they come as an array; they vary along the indices' axes that end before `stop`."""

    axis: int
    source: int | StaticSlice | None
    stop: int


class Plan(NamedTuple):
    """The static data of a gather or scatter.

    `batch` is the shape of the indices without its last axis, `shape` the shape of the read or
    written elements, `new_axes` the axes of that shape that the array lacks; `ordered` is True if
    the coordinates are sorted and distinct.
    """

    columns: tuple[AxisCoordinates, ...]
    batch: Shape
    offset_dims: tuple[int, ...]
    collapsed: tuple[int, ...]
    sizes: Shape
    shape: Shape
    new_axes: tuple[int, ...]
    ordered: bool

    def gather_numbers(self) -> GatherDimensionNumbers:
        """Return the dimension numbers of a gather."""
        mapped = tuple([c.axis for c in self.columns])
        return GatherDimensionNumbers(self.offset_dims, self.collapsed, mapped)

    def scatter_numbers(self) -> ScatterDimensionNumbers:
        """Return the dimension numbers of a scatter."""
        return ScatterDimensionNumbers(*self.gather_numbers())


def _joint_shape(arrays: Sequence[Any]) -> Shape:
    shapes = [a.shape for a in arrays]
    try:
        return broadcast_shapes(*shapes)
    except ShapeError:
        text = ", ".join(map(str, shapes))
        raise ShapeError(f"index arrays of shapes {text} do not broadcast together") from None


def make_plan(entries: Sequence[Any], block: int, shape: Shape) -> tuple[Plan, list[Any]]:
    """Plan an index of an array of the given shape; return the plan and the arrays in the index.

    Raises ShapeError if index arrays do not broadcast together.
    """
    arrays = [e for e in entries if _is_coordinate(e) and e.__class__ not in INTS]
    joint = _joint_shape(arrays) if arrays else ()
    outs = [e for e in entries if e is None or e.__class__ is StaticSlice]
    walk = _Walk(joint)
    for n, out in enumerate(outs):
        if n == block:
            walk.add_joint()
        walk.add(out)
    if block >= len(outs):
        walk.add_joint()
    return walk.plan(entries, shape), arrays


def _is_coordinate(e: Any) -> bool:
    return e is not None and e.__class__ is not StaticSlice


class _Walk:
    """A walk over the result's axes that classifies them as batch, window and new ones."""

    def __init__(self, joint: Shape) -> None:
        self.joint = joint
        self.joint_stop = 0
        self.batch: list[int] = []
        self.shape: list[int] = []
        self.offset: list[int] = []
        self.new_axes: list[int] = []
        self.stepped: list[int] = []  # ends in the batch of the indices of stepped slices

    def add_joint(self) -> None:
        """Add the joint axes of the index arrays."""
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
        """Return the plan, given the entries in their original order."""
        columns, sizes, collapsed = [], [], []
        stepped = iter(self.stepped)
        for axis, e in enumerate([e for e in entries if e is not None]):
            if e.__class__ is StaticSlice and e.step == 1:
                sizes.append(e.size)
                if e.size != shape[axis]:
                    columns.append(AxisCoordinates(axis, e.start, 0))
                continue
            sizes.append(1)
            collapsed.append(axis)
            if e.__class__ is StaticSlice:
                columns.append(AxisCoordinates(axis, e, next(stepped)))
            else:
                columns.append(
                    AxisCoordinates(axis, e if e.__class__ in INTS else None, self.joint_stop)
                )
        spans = [c.source for c in columns if isinstance(c.source, StaticSlice)]
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
    """Return the array of coordinates for a plan's gather or scatter.

    Negative coordinates count from the end of their axis if `wrap`.
    """
    dtype = np.dtype("int64" if any(known_at_least(n, 2**31) for n in shape) else "int32")
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
    if source.__class__ is StaticSlice:
        counted = iota(dtype, source.size)
        scaled = mul_p.bind(counted, dtype.type(source.step))
        return add_p.bind(scaled, dtype.type(source.start)) if source.start else scaled
    if isinstance(source, np.ndarray):
        low = source + (source < 0) * length if wrap and source.dtype.kind == "i" else source
        return narrowed_on_host(low, dtype)
    return wrapped(source, length, dtype, wrap)
