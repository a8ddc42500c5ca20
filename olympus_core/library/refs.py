"""The public functions of mutable references."""

from __future__ import annotations

from typing import Any

from olympus_core.base import dtypes
from olympus_core.base.avals import typeof
from olympus_core.base.errors import ArgumentError, ShapeError
from olympus_core.ir.tracer import Array
from olympus_core.ir.typing import ArrayLike
from olympus_core.library.numpy.creation.array import asarray
from olympus_core.library.numpy.creation.fills import zeros
from olympus_core.library.numpy.creation.ranges import arange
from olympus_core.library.promotion import broadcast_to, convert
from olympus_core.transforms.references import Reference


class RefSlice:
    """`size` elements from `start`, which may be traced, `stride` apart: an index of `ds`."""

    def __init__(self, start: Any, size: int, stride: int = 1) -> None:
        self.start, self.size, self.stride = start, size, stride

    def __repr__(self) -> str:
        return f"Slice(start={self.start}, size={self.size}, stride={self.stride})"

    def __jax_array__(self) -> Array:
        return self.positions()

    def positions(self) -> Array:
        """Return the positions of the elements."""
        places: Array = arange(self.size) * self.stride + self.start
        return places


def ds(start: Any, size: int | None = None, stride: int | None = None) -> Any:
    """Return the index of `size` elements from `start`, which may be traced.

    `ds(size)` starts at 0.  Only one of the indices of an element may be a `ds` with a traced
    start or beside arrays.

    >>> ref = new_ref(numpy.arange(5))
    >>> ref[ds(1, 2)]
    Array([1, 2], dtype=int32)
    """
    if size is None:
        start, size = 0, start
    return RefSlice(start, size, stride or 1)


def _index(reference: Reference, index: Any) -> Any:
    """Return the index with positions for each `ds`; raise ShapeError for one out of bounds."""
    entries = (...,) if index is None else index if isinstance(index, tuple) else (index,)
    shape, axis = reference.inner_aval.shape, 0
    result: list[Any] = []
    for entry in entries:
        if entry is Ellipsis:
            rest = sum(x is not None and x is not Ellipsis for x in entries[len(result) + 1 :])
            axis = len(shape) - rest
        elif isinstance(entry, int) and not isinstance(entry, bool) and axis < len(shape):
            if not -shape[axis] <= entry < shape[axis]:
                raise ShapeError(f"Out of bound indexer: idx={entry}, dim={shape[axis]}")
            axis += 1
        elif entry is not None:
            axis += 1
        result.append(entry.positions() if isinstance(entry, RefSlice) else entry)
    return tuple(result)


def _new_value(reference: Reference, index: Any, value: Any, operation: str) -> Any:
    """Return a value for an index, in the dtype of the reference; raise an error if it has none."""
    aval, target = typeof(value), reference.inner_aval
    if dtypes.kind(target.dtype) == "k":
        return value
    promoted, _ = dtypes.promote((target.dtype, False), (aval.dtype, aval.weak_type))
    if aval.dtype != target.dtype and not (aval.weak_type and promoted == target.dtype):
        raise ArgumentError(
            f"Invalid dtype for `{operation}`. Ref dtype: {dtypes.long_name(target.dtype)}. "
            f"Value dtype: {dtypes.long_name(aval.dtype)}",
            hint="convert the value with astype",
        )
    expected = reference.value[index].shape
    if not _broadcasts(aval.shape, expected):
        raise ShapeError(
            f"Invalid shape for `{operation}`. Ref shape: {target.shape}. Expected shape: "
            f"{expected}. Value shape: {aval.shape}"
        )
    return broadcast_to(convert(value, target.dtype), expected)


def _broadcasts(shape: tuple[int, ...], to: tuple[int, ...]) -> bool:
    """Return True if an array of a shape broadcasts to another shape."""
    lengths = to[len(to) - len(shape) :]
    return len(shape) <= len(to) and all(a in (1, b) for a, b in zip(shape, lengths, strict=True))


def get(ref: Reference, idx: Any = ...) -> Array:
    """Return the elements of a reference at an index: `ref[idx]`.

    Raises ShapeError for an int that is out of bounds.

    >>> get(new_ref(numpy.arange(3)), 1)
    Array(1, dtype=int32)
    """
    value: Array = ref.value[_index(ref, idx)]
    return value


def set(ref: Reference, idx: Any, value: ArrayLike) -> None:
    """Replace the elements of a reference at an index: `ref[idx] = value`.

    Raises ArgumentError or ShapeError for a value that does not fit, ShapeError for an int that is
    out of bounds, and TransformError for a value that is differentiated or mapped by a
    transformation that the reference is outside of.

    >>> ref = new_ref(numpy.arange(3))
    >>> set(ref, 1, 7)
    >>> ref[...]
    Array([0, 7, 2], dtype=int32)
    """
    _update(ref, idx, value, "swap")


def _update(ref: Reference, idx: Any, value: ArrayLike, operation: str) -> None:
    index = _index(ref, idx)
    new = _new_value(ref, index, value, operation)
    at = ref.value.at[index]
    updated = at.add(new) if operation == "addupdate" else at.set(new)
    aval = ref.inner_aval
    is_keys = dtypes.kind(aval.dtype) == "k"
    ref.set_value(updated if is_keys else convert(updated, aval.dtype, aval.weak_type))


def swap(ref: Reference, idx: Any, value: ArrayLike) -> Array:
    """Replace the elements of a reference at an index, and return the old ones; see `set`.

    >>> ref = new_ref(numpy.arange(3))
    >>> swap(ref, 1, 7)
    Array(1, dtype=int32)
    """
    old = get(ref, idx)
    set(ref, idx, value)
    return old


def addupdate(ref: Reference, idx: Any, x: ArrayLike) -> None:
    """Add to the elements of a reference at an index: `ref[idx] += x`; see `set`.

    >>> ref = new_ref(numpy.arange(3))
    >>> addupdate(ref, 1, 7)
    >>> ref[...]
    Array([0, 8, 2], dtype=int32)
    """
    _update(ref, idx, x, "addupdate")


def new_ref(init_val: ArrayLike, *, memory_space: Any = None, kind: Any = None) -> Reference:
    """Return a new reference that holds an array.

    The array is not changed by writes to the reference.  `memory_space` and `kind` have no effect.
    Raises DTypeError for a value that is not an array.

    >>> ref = new_ref(numpy.zeros(2))
    >>> ref[0] += 1.0
    >>> ref[...]
    Array([1., 0.], dtype=float32)
    """
    typeof(init_val)
    return Reference(asarray(init_val))


def empty_ref(ty: Any, *, memory_space: Any = None) -> Reference:
    """Return a new reference for an array of the shape and dtype of `ty`; it holds zeros.

    >>> empty_ref(ShapeDtypeStruct((2,), "float32"))[...]
    Array([0., 0.], dtype=float32)
    """
    return Reference(zeros(ty.shape, ty.dtype))


def freeze(ref: Reference) -> Array:
    """Return the value of a reference that is not used any more.

    >>> freeze(new_ref(numpy.zeros(2)))
    Array([0., 0.], dtype=float32)
    """
    return ref.value


def free_ref(ref: Reference) -> None:
    """End the use of a reference.

    >>> free_ref(new_ref(numpy.zeros(2)))
    """
    freeze(ref)


Ref: Any = Reference
Ref.__name__ = Ref.__qualname__ = "Ref"
Ref.__getitem__, Ref.__setitem__, Ref.addupdate = get, set, addupdate
