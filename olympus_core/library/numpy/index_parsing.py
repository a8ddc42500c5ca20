"""What a user writes between brackets enters; one plain entry for each axis leaves.

Entries are: an int (a static index), a `Span` (a slice), an integer array (of rank 0 where it is
a dynamic index), or None (a new axis).  Ellipses, boolean masks and scalar bools are gone: masks
must be known while tracing, and become the indices of their true elements.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from olympus_core import dtypes
from olympus_core.array import to_numpy
from olympus_core.avals import Shape, get_aval
from olympus_core.errors import (
    DTypeError,
    IndexingError,
    NonConcreteBooleanIndexError,
    ShapeError,
)
from olympus_core.library.numpy.creation import asarray
from olympus_core.tracer import Array, Tracer

__all__ = ["Index", "Span", "as_array", "parse"]


class Span(NamedTuple):
    """A slice of known length: elements `start`, `start + step`, ..., `size` of them."""

    start: int
    size: int
    step: int


class Index(NamedTuple):
    """A parsed index.

    `block` is the position, among the result's axes, of those that index arrays have together;
    `nothing` says that the index has a False, which selects nothing.
    """

    entries: list[Any]
    block: int
    nothing: bool


class _Mask(NamedTuple):
    value: np.ndarray[Any, Any]


def as_array(x: Any) -> Any:
    """A list or tuple, possibly with traced scalars inside, as an array; others as they are."""
    if not isinstance(x, (list, tuple)):
        return x
    return asarray(x) if _holds_arrays(x) else np.asarray(x)


def _holds_arrays(x: Any) -> bool:
    return isinstance(x, Array) or (isinstance(x, (list, tuple)) and any(map(_holds_arrays, x)))


def _whole_index(index: Any) -> tuple[Any, ...]:
    if isinstance(index, tuple):
        return index
    if isinstance(index, Sequence) and not isinstance(index, str):
        raise IndexingError(
            f"a {type(index).__name__} is not an index; it could mean a tuple or an array",
            hint="write x[tuple(index)] for one index an axis, x[array(index)] for an array",
        )
    return (index,)


_PLAIN = (int, slice, type(None), type(Ellipsis))


def _classify(i: Any, position: int) -> Any:
    """An index as int, slice, None, Ellipsis, bool, integer array or mask."""
    if i.__class__ in _PLAIN or isinstance(i, (slice, bool)):
        return i
    if isinstance(i, (int, np.integer)):
        return int(i)
    if isinstance(i, (list, tuple)):
        i = as_array(i) if len(i) else np.zeros((0,), np.int64)
    elif isinstance(i, str):
        raise IndexingError(f"arrays have no fields: the string {i!r} is not an index")
    try:
        kind = dtypes.kind(get_aval(i).dtype)
    except DTypeError:
        raise IndexingError(
            "an index is an int, a slice, ..., None, or an array of integers or bools, "
            f"and not a {type(i).__name__}, at position {position}"
        ) from None
    if hasattr(i, "__jax_array__"):
        i = i.__jax_array__()
    if kind == "b":
        return _mask(i)
    if kind not in "iu":
        raise IndexingError(
            f"an index has an integer or boolean dtype, and not {get_aval(i).long_name()}, "
            f"at position {position}"
        )
    return int(i) if isinstance(i, np.ndarray) and not i.shape else i


def _mask(i: Any) -> Any:
    if isinstance(i, Tracer):
        raise NonConcreteBooleanIndexError(
            f"a boolean index must be known while tracing, and {i.aval.long_name()} is "
            f"{i.origin()}: the number of its true elements is the result's shape",
            hint="use olympus.numpy.where(mask, x, y), which keeps the shape",
        )
    value = to_numpy(i)
    return _Mask(value) if value.shape else bool(value)


def _consumed(i: Any) -> int:
    """How many axes of the array an index is for."""
    if i.__class__ is _Mask:
        return int(i.value.ndim)
    return 0 if i is None or i is Ellipsis or i.__class__ is bool else 1


def parse(index: Any, shape: Shape) -> Index:
    """Understand an index of an array of the given shape.

    Raises IndexingError for what is not an index, or has too many or mismatched parts.
    """
    raw = [
        i if i.__class__ in _PLAIN else _classify(i, position)
        for position, i in enumerate(_whole_index(index))
    ]
    used = sum([_consumed(i) for i in raw])
    if used > len(shape):
        raise IndexingError(f"{used} indices were given for an array of {len(shape)} dimensions")
    ellipses = [n for n, i in enumerate(raw) if i is Ellipsis]
    if len(ellipses) > 1:
        raise IndexingError("an index can have one ellipsis ('...'), and has more")
    entries: list[Any] = []
    starts: list[int] = []  # where in `entries` each raw index begins
    axis = 0
    for position, i in enumerate(raw):
        starts.append(len(entries))
        if i is Ellipsis:
            rest = shape[axis : axis + len(shape) - used]
            entries += [Span(0, n, 1) for n in rest]
            axis += len(rest)
        else:
            entries += _entries(i, shape, axis, position)
            axis += _consumed(i)
    entries += [Span(0, n, 1) for n in shape[axis:]]
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
            f"a boolean index of shape {i.value.shape} was given, at position {position}, "
            f"for axes of shape {expected}"
        )
    return list(np.nonzero(i.value))


def _span(i: slice, length: int, position: int) -> Span:
    for bound in (i.start, i.stop, i.step):
        if isinstance(bound, Tracer):
            raise IndexingError(
                f"the bounds of a slice must be known while tracing, and {bound.aval.long_name()}, "
                f"at position {position}, is {bound.origin()}",
                hint="use olympus.lax.dynamic_slice, which has a static size and a traced start",
            )
    try:
        start, stop, step = i.indices(length)
    except TypeError:
        raise IndexingError(f"the bounds of a slice are ints or None, and not {i!r}") from None
    except ValueError:
        raise ShapeError("the step of a slice cannot be zero") from None
    size = len(range(start, stop, step))
    return Span(start, size, step if size > 1 else 1) if size else Span(0, 0, 1)


def _is_advanced(i: Any) -> bool:
    return not (i is None or i is Ellipsis or i.__class__ is slice)


def _placed(raw: list[Any], starts: list[int], entries: list[Any]) -> Index:
    """Find where the axes of index arrays go, which is what NumPy has it.

    Ints and scalar bools count as index arrays if there is one.  Adjacent ones leave their axes
    in their place, others in front.  Bools by themselves are an axis of length 1 there.
    """
    flags = [i for i in raw if i.__class__ is bool]
    arrays = any(_is_array(i) for i in entries)
    if not flags and not arrays:
        return Index(entries, 0, False)
    advanced = [n for n, i in enumerate(raw) if _is_advanced(i)]
    adjacent = advanced[-1] - advanced[0] + 1 == len(advanced)
    first = starts[advanced[0]] if adjacent else 0
    block = sum([e is None or e.__class__ is Span for e in entries[:first]])
    if not arrays:
        entries.insert(first, None)
    return Index(entries, block, not all(flags))


def _is_array(i: Any) -> bool:
    return i is not None and i.__class__ is not int and i.__class__ is not Span and i.ndim > 0
