"""`lax.associative_scan`: cumulative results of an associative function, in O(log n) steps.

The method is Blelloch's, "Prefix sums and their applications" (1990): neighbours are combined
in pairs, the half as many results are scanned in the same way, and the elements between are
filled in.
So n elements take about 2 n applications, in 2 log2(n) steps. Along an axis of symbolic length, a
loop combines one element after the other.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from olympus_core.arrays.device_array import put_array
from olympus_core.base import tree
from olympus_core.base.dimensions.expression import is_symbolic_dim
from olympus_core.base.errors import ArgumentError, ShapeError
from olympus_core.ir.tracer import Array
from olympus_core.library.axes import canonical_axis
from olympus_core.library.lax.control import cond, scan
from olympus_core.library.lax.shape import expand_dims, iota, rev, squeeze
from olympus_core.library.lax.slicing import concatenate, pad, slice_in_dim
from olympus_core.library.operands import operand
from olympus_core.library.promotion import convert
from olympus_core.primitives.elementwise.arithmetic import add_p
from olympus_core.primitives.elementwise.base import move_axis
from olympus_core.primitives.elementwise.logic import or_p

_T = TypeVar("_T")
_Elements = list[Any]


def associative_scan(
    fn: Callable[[_T, _T], _T], elems: _T, reverse: bool = False, axis: int = 0
) -> _T:
    """Combine the elements up to each index along an axis, by an associative function.

    fn: a function of two trees of arrays such as `elems`, of any length along `axis`, to one; it
    is applied to all pairs of a step together.  elems: a tree of arrays of one length along
    `axis`.  reverse: combine from each element on, instead of up to it.

    Raises ArgumentError if `fn` is not a function or returns another structure, ShapeError for
    arrays of different lengths.
    for arrays of different lengths.

    >>> associative_scan(add, arange(4))
    Array([0, 1, 3, 6], dtype=int32)
    """
    if not callable(fn):
        raise ArgumentError(
            f"lax.associative_scan: fn argument should be callable, and is {fn!r:.60}"
        )
    leaves, treedef = tree.flatten(elems)
    operands = [operand("associative_scan", x)[0] for x in leaves]
    arrays = [x if isinstance(x, Array) else put_array(x) for x in operands]
    if not arrays:
        return elems
    places = [canonical_axis(axis, x.ndim, "the axis of associative_scan") for x in arrays]
    lengths = sorted({x.shape[i] for x, i in zip(arrays, places, strict=True)})
    if len(lengths) > 1 or len(set(places)) > 1:
        raise ShapeError(
            "Array inputs to associative_scan must have the same first dimension. (saw: "
            f"{[x.shape for x in arrays]}): the axis is {axis}"
        )

    def combine(a: _Elements, b: _Elements) -> _Elements:
        results, out_tree = tree.flatten(fn(treedef.unflatten(a), treedef.unflatten(b)))
        if out_tree != treedef:
            raise ArgumentError(
                f"the function of associative_scan must return {treedef}, and returned {out_tree}"
            )
        return results

    place = places[0]
    if reverse:
        arrays = [rev(x, (place,)) for x in arrays]
    outs = _scanned(combine, arrays, place)
    if reverse:
        outs = [rev(x, (place,)) for x in outs]
    return treedef.unflatten(outs)  # type: ignore[no-any-return]


def _strided_slice(
    xs: _Elements, axis: int, start: int, stop: int | None = None, step: int = 1
) -> Any:
    return [slice_in_dim(x, start, stop, step, axis) for x in xs]


def _scanned(
    combine: Callable[[_Elements, _Elements], _Elements], xs: _Elements, axis: int
) -> _Elements:
    length = xs[0].shape[axis]
    if is_symbolic_dim(length):
        return _scanned_in_turn(combine, xs, axis)
    if length < 2:
        return xs
    last = length - length % 2
    pairs = combine(_strided_slice(xs, axis, 0, last, 2), _strided_slice(xs, axis, 1, last, 2))
    odd = _scanned(combine, pairs, axis)
    before = odd if length % 2 else _strided_slice(odd, axis, 0, length // 2 - 1)
    odd_elements = _strided_slice(xs, axis, 2, None, 2)
    even = combine(before, odd_elements) if length > 2 else odd_elements
    first = _strided_slice(xs, axis, 0, 1)
    even = [concatenate([a, convert(b, a.dtype)], axis) for a, b in zip(first, even, strict=True)]
    return [_interleaved(a, b, axis) for a, b in zip(even, odd, strict=True)]


def _scanned_in_turn(
    combine: Callable[[_Elements, _Elements], _Elements], xs: _Elements, axis: int
) -> _Elements:
    """Combine one element after the other: the number of other steps depends on the length."""
    first = _strided_slice(xs, axis, 0, 1)

    def next_of(before: _Elements, row: _Elements) -> _Elements:
        outs = combine(before, row)
        return [convert(x, of.dtype) for x, of in zip(outs, first, strict=True)]

    def step(before: _Elements, now: tuple[Any, _Elements]) -> tuple[_Elements, _Elements]:
        number, rows = now
        row = [expand_dims(x, (axis,)) for x in rows]
        outs = cond(number == 0, lambda _, row: row, next_of, before, row)
        return outs, [squeeze(x, (axis,)) for x in outs]

    numbers = iota("int32", xs[0].shape[axis])
    _, outs = scan(step, first, (numbers, [move_axis(x, axis, 0) for x in xs]))
    return [move_axis(x, 0, axis) for x in outs]


def _interleaved(even: Any, odd: Any, axis: int) -> Any:
    """a[0], b[0], a[1], b[1], ... along an axis, as a sum of both with zeros between."""
    excess = even.shape[axis] - odd.shape[axis]

    def spread(x: Any, low: int, high: int) -> Any:
        config: Sequence[Sequence[int]] = [
            (low, high, 1) if i == axis else (0, 0, 0) for i in range(x.ndim)
        ]
        return pad(x, convert(0, x.dtype), config)

    a, b = spread(even, 0, 1 - excess), spread(odd, 1, excess)
    return (or_p if even.dtype == bool else add_p).bind(a, b)
