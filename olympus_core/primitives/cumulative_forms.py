"""The forms of cumulative reductions for which XLA generates fast code for the CPU.

A loop over the axis is one kernel: it compiles and runs faster than XLA's scan, unless each step
reads elements far apart or a processor has too many to compute alone.  Large arrays for which it
does are reduced in blocks along the last axis: the elements up to each one of its block, and the
blocks before it.  XLA does that too, and results differ by rounding at most.  But XLA copies the
last elements of the blocks by kernels of their own, and reduces each window element by element.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from olympus_core.base.avals import ShapedArray, get_aval, shape_of, shaped
from olympus_core.base.dtypes import DType
from olympus_core.base.source import Source
from olympus_core.ir.olympuspr import Eqn, Olympuspr, Var
from olympus_core.ir.primitive import Primitive, op
from olympus_core.primitives.elementwise.arithmetic import add_p, max_p, min_p, mul_p
from olympus_core.primitives.elementwise.base import reshape, to_dtype, zeros_like
from olympus_core.primitives.looping import repeat

_COMBINERS: dict[str, Primitive] = {"add": add_p, "mul": mul_p, "max": max_p, "min": min_p}
#: the dtypes of loops, by the primitive of two arrays. A loop of float64 would be less accurate.
_INTEGERS = frozenset(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64))
_LOOPED = {
    "add": _INTEGERS | {"float32"},
    "mul": _INTEGERS | {"float32"},
    "max": _INTEGERS | {"float32", "float64"},
    "min": _INTEGERS | {"float32", "float64"},
}
_BLOCKED = _INTEGERS | {"float32", "float64"}
# The rule of loops, measured beside windows on two processors (docs/explanation/loops.md).
_WINDOW = 16  # the length up to which a window is one kernel, and the length of a block
_STEP = 256  # elements of a step
_FEW_ROWS = 8  # rows of a step that are apart in memory
_CACHED = 8192  # elements of an array whose rows may be apart
_VECTOR = 8  # elements that one instruction adds
_LONG = 2**17  # additions of one processor
_MANY = 2**16  # elements of an array from which on blocks are faster,
_LENGTH = 256  # and elements of its axis: the last block of a shorter one may be mostly empty

_Form = Callable[..., Any]


def cumulative_form(aval: ShapedArray, axis: int, combiner: str | None) -> _Form | None:
    """Return the function (array, combiner, identity, axis, reverse) of the fastest form.

    Return None for that of XLA, as for a `combiner` that is not one primitive of two arrays.
    """
    if combiner is None:
        return None
    if _is_loop(aval, axis, combiner):
        return running
    is_last = math.prod(aval.shape[axis + 1 :]) == 1
    is_large = aval.size >= _MANY and aval.shape[axis] >= _LENGTH
    return in_blocks if is_last and is_large and str(aval.dtype) in _BLOCKED else None


def _is_loop(aval: ShapedArray, axis: int, combiner: str) -> bool:
    """Return True if the reduction is fastest as a loop over the axis."""
    if str(aval.dtype) not in _LOOPED[combiner]:
        return False
    length, inner = aval.shape[axis], math.prod(aval.shape[axis + 1 :])
    outer = math.prod(aval.shape[:axis])
    is_near = outer <= _FEW_ROWS or aval.size <= _CACHED
    is_short = length * outer * max(1, inner // _VECTOR) <= _LONG
    return length > _WINDOW and outer * inner <= _STEP and is_near and is_short


def running(x: Any, *, combiner: str, identity: Any, axis: int, reverse: bool) -> Any:
    """Return the cumulative array, by a loop over the axis that starts from `identity`.

    Sums and products of float32 are float64 until they are stored: a loop adds more terms one after
    the other than a tree of sums, and would have a larger error.
    """
    shape, dtype = shape_of(x), get_aval(x).dtype
    wide = np.dtype("float64") if combiner in ("add", "mul") and dtype == "float32" else dtype
    row = tuple([1 if i == axis else n for i, n in enumerate(shape)])

    def step(i: Any, total: Any, out: Any) -> list[Any]:
        place = op.sub(np.int32(shape[axis] - 1), i) if reverse else i
        starts = [place if k == axis else np.int32(0) for k in range(len(shape))]
        part = op.dynamic_slice(x, *starts, slice_sizes=row)
        total = getattr(op, combiner)(total, to_dtype(part, wide))
        return [total, op.dynamic_update_slice(out, to_dtype(total, dtype), *starts)]

    start = op.broadcast_in_dim(wide.type(identity), shape=row, broadcast_dimensions=())
    return repeat(shape[axis], step, start, zeros_like(x))[1]


def in_blocks(x: Any, *, combiner: str, identity: Any, axis: int, reverse: bool) -> Any:
    """Return the cumulative array along the last axis that has several elements, in blocks."""
    shape = shape_of(x)
    rows = reshape(x, (math.prod(shape[:axis]), shape[axis]))
    start = get_aval(x).dtype.type(identity)
    return reshape(_cumulative(rows, combiner, start, reverse), shape)


def _cumulative(x: Any, combiner: str, start: Any, reverse: bool, *, before: bool = False) -> Any:
    """Return the reduction up to each element of a row, or of those `before` it."""
    rows, length = shape_of(x)
    if length <= _WINDOW:
        return _combined(x, combiner, start, reverse, before=before)
    count = -(-length // _WINDOW)
    more = count * _WINDOW - length
    missing = (more, 0, 0) if reverse else (0, more, 0)
    blocks = reshape(_padded(x, start, missing), (rows, count, _WINDOW))
    inner = _combined(blocks, combiner, start, reverse)
    last = 0 if reverse else _WINDOW - 1
    ends = op.slice(
        inner,
        start_indices=(0, 0, last),
        limit_indices=(rows, count, last + 1),
        strides=(1, 1, 1),
    )
    outer = _cumulative(reshape(ends, (rows, count)), combiner, start, reverse, before=True)
    if before:
        inner = _padded(inner, start, (-1, 1, 0) if reverse else (1, -1, 0))
    spread = op.broadcast_in_dim(outer, shape=shape_of(inner), broadcast_dimensions=(0, 1))
    whole = reshape(getattr(op, combiner)(inner, spread), (rows, count * _WINDOW))
    begin = more if reverse else 0
    return op.slice(
        whole, start_indices=(0, begin), limit_indices=(rows, begin + length), strides=(1, 1)
    )


def _padded(x: Any, value: Any, last: tuple[int, int, int]) -> Any:
    """Return an array with elements of `value` added to its last axis, or removed from it."""
    if last == (0, 0, 0):
        return x
    config = [(0, 0, 0)] * (len(shape_of(x)) - 1)
    return op.pad(x, value, padding_config=(*config, last))


def _combined(x: Any, combiner: str, start: Any, reverse: bool, *, before: bool = False) -> Any:
    """Return the reduction up to each element of the last axis, in one kernel.

    It reduces copies of the axis, each with the elements up to another position. The array is
    reduced together with itself: XLA leaves a reduction of one array to a library, which does not
    compute the copies in the same kernel.
    """
    shape = shape_of(x)
    size, rest = shape[-1], len(shape) - 1
    of, at = (op.iota(shape=(size, size), dimension=d, dtype=np.dtype("int32")) for d in (0, 1))
    order = (op.gt if reverse else op.lt) if before else (op.ge if reverse else op.le)
    copies = (*shape, size)
    is_in = op.broadcast_in_dim(order(of, at), shape=copies, broadcast_dimensions=(rest, rest + 1))
    elements = op.broadcast_in_dim(x, shape=copies, broadcast_dimensions=tuple(range(rest + 1)))
    starts = op.broadcast_in_dim(start, shape=copies, broadcast_dimensions=())
    chosen = op.select_n(is_in, starts, elements)
    program = _crosswise(_COMBINERS[combiner], get_aval(x).dtype)
    operands = chosen, chosen, start, start
    return op.reduce(*operands, olympuspr=program, dimensions=(rest,))[0]


@functools.lru_cache(maxsize=64)
def _crosswise(combiner: Primitive, dtype: DType) -> Olympuspr:
    """Return the program (a, b, x, y) -> (a with y, b with x), of which XLA removes no result."""
    a, b, x, y, first, second = (Var(shaped((), dtype)) for _ in range(6))
    source = Source(None, 0, "")
    eqns = Eqn(combiner, (a, y), (first,), {}, source), Eqn(combiner, (b, x), (second,), {}, source)
    return Olympuspr((a, b, x, y), eqns, (first, second))
