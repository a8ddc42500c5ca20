"""The public functions of mutable references."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from olympus_core.base import dtypes
from olympus_core.base.avals import typeof
from olympus_core.base.errors import ArgumentError, DTypeError, ShapeError
from olympus_core.ir.tracer import Array
from olympus_core.ir.typing import ArrayLike
from olympus_core.library.numpy.creation.array import asarray
from olympus_core.library.numpy.creation.fills import zeros
from olympus_core.library.numpy.creation.ranges import arange
from olympus_core.library.promotion import convert
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


def _checked(ref: Any, function: str) -> Reference:
    """Return a reference; raise ArgumentError for another value."""
    if isinstance(ref, Reference):
        return ref
    raise ArgumentError(f"Can only call `{function}` on a `Ref`: {ref!s:.80}.")


def _entries(index: Any) -> tuple[Any, ...]:
    """Return an index as a tuple: empty for the whole array."""
    if index is None or index is Ellipsis:
        return ()
    return index if isinstance(index, tuple) else (index,)


def _index(reference: Reference, entries: tuple[Any, ...]) -> Any:
    """Return the index with positions for each `ds`; raise ShapeError for one out of bounds."""
    shape, axis = reference.inner_aval.shape, 0
    count = sum(entry is not None and entry is not Ellipsis for entry in entries)
    if count > len(shape):
        raise ShapeError(
            f"`indices` must not be longer than `shape`: indices={entries}, shape={shape}"
        )
    result: list[Any] = []
    for entry in entries:
        if entry is Ellipsis:
            rest = sum(x is not None and x is not Ellipsis for x in entries[len(result) + 1 :])
            axis = len(shape) - rest
        elif isinstance(entry, int) and not isinstance(entry, bool) and axis < len(shape):
            if entry >= shape[axis]:
                raise ShapeError(f"Out of bound indexer: idx={entry}, dim={shape[axis]}")
            axis += 1
        elif entry is not None:
            axis += 1
        if isinstance(entry, slice) and isinstance(entry.step, int) and entry.step < 1:
            raise ShapeError(f"slice must have a step >= 1 (found: {entry.step})")
        result.append(entry.positions() if isinstance(entry, RefSlice) else entry)
    return tuple(result)


def _new_value(reference: Reference, expected: Sequence[int], value: Any, operation: str) -> Any:
    """Return a value in the dtype of the reference; raise an error for another shape or dtype."""
    if isinstance(value, Reference):
        raise ArgumentError(
            "Cannot store a Ref into another Ref. Did you forget to load from it using `[...]`?"
        )
    aval, target = typeof(value), reference.inner_aval
    if tuple(aval.shape) != tuple(expected):
        raise ShapeError(
            f"Invalid shape for `{operation}`. Ref shape: {target.shape}. Expected shape: "
            f"{tuple(expected)}. Value shape: {aval.shape}.",
            hint="broadcast the value with broadcast_to",
        )
    kinds = dtypes.kind(aval.dtype), dtypes.kind(target.dtype)
    is_cast = operation == "swap" and (
        (aval.weak_type and kinds == ("f", "f")) or all(kind in "iu" for kind in kinds)
    )
    if aval.dtype != target.dtype and not is_cast:
        raise ArgumentError(
            f"Invalid dtype for `{operation}`. Ref dtype: {dtypes.long_name(target.dtype)}. "
            f"Value dtype: {dtypes.long_name(aval.dtype)}.",
            hint="convert the value with astype",
        )
    return value if kinds[0] == "k" else convert(value, target.dtype)


def get(ref: Reference, idx: Any = None) -> Array:
    """Return the elements of a reference at an index: `ref[idx]`.

    Raises ShapeError for an int that is out of bounds.

    >>> get(new_ref(numpy.arange(3)), 1)
    Array(1, dtype=int32)
    """
    entries = _entries(idx)
    value = _checked(ref, "ref_get").value
    if not entries:
        return value
    read: Array = value.at[_index(ref, entries)].get(mode="clip")
    return read


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
    entries, aval = _entries(idx), _checked(ref, f"ref_{operation}").inner_aval
    old = ref.value
    if not entries:
        new = _new_value(ref, aval.shape, value, operation)
        updated = old + new if operation == "addupdate" else asarray(new)
    else:
        index = _index(ref, entries)
        new = _new_value(ref, old[index].shape, value, operation)
        at = old.at[index]
        updated = at.add(new, mode="clip") if operation == "addupdate" else at.set(new, mode="clip")
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


def _add(self: Reference, x: ArrayLike, idx: Any = ()) -> None:
    """Add to the elements of the reference at an index; see `olympus.ref.addupdate`."""
    addupdate(self, idx, x)


def new_ref(init_val: ArrayLike, *, memory_space: Any = None, kind: Any = None) -> Reference:
    """Return a new reference that holds an array.

    The array is not changed by writes to the reference.  `memory_space` and `kind` have no effect.
    Raises DTypeError for a value that is not an array.

    >>> ref = new_ref(numpy.zeros(2))
    >>> ref[0] += 1.0
    >>> ref[...]
    Array([1., 0.], dtype=float32)
    """
    if isinstance(init_val, Reference):
        raise DTypeError(f"new_ref takes an array, and got the reference {init_val.aval}")
    typeof(init_val)
    return Reference(asarray(init_val))


def empty_ref(ty: Any, *, memory_space: Any = None) -> Reference:
    """Return a new reference for an array of the shape and dtype of `ty`; it holds zeros.

    >>> empty_ref(ShapeDtypeStruct((2,), "float32"))[...]
    Array([0., 0.], dtype=float32)
    """
    return Reference(zeros(ty.shape, ty.dtype))


def freeze(ref: Reference) -> Array:
    """Return the value of a reference that is not used any more; an array as it is.

    >>> freeze(new_ref(numpy.zeros(2)))
    Array([0., 0.], dtype=float32)
    """
    return ref.value if isinstance(ref, Reference) else ref


def free_ref(ref: Reference) -> None:
    """End the use of a reference.

    >>> free_ref(new_ref(numpy.zeros(2)))
    """
    freeze(ref)


_add.__name__, _add.__qualname__ = "addupdate", "Ref.addupdate"
Ref: Any = Reference
Ref.__name__ = Ref.__qualname__ = "Ref"
Ref.__getitem__, Ref.__setitem__ = get, set
Ref.addupdate = _add
