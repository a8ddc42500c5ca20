"""Collectives that are calls of programs of other collectives: of ragged parts, and a broadcast."""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np

from olympus_core.base import dtypes, tree
from olympus_core.base.avals import get_aval
from olympus_core.base.errors import ArgumentError, DTypeError, ShapeError
from olympus_core.extension.programs.calls import create_call_primitive
from olympus_core.ir.tracer import Array
from olympus_core.ir.typing import ArrayLike
from olympus_core.library.lax.collective import Groups, all_gather, psum
from olympus_core.library.lax.named_axes import AxisName, axis_index
from olympus_core.library.numpy.creation.array import asarray
from olympus_core.library.numpy.manipulation.joining import stack
from olympus_core.library.numpy.sorting.searching import argmax, where
from olympus_core.library.promotion import convert
from olympus_core.primitives.collective import varying
from olympus_core.transforms.staging import stage

_T = TypeVar("_T")
_NUMBERS = ("input_offsets", "send_sizes", "output_offsets", "recv_sizes")


def pbroadcast(x: _T, axis_name: AxisName, source: int) -> _T:
    """Return the value that the index `source` of a mapped axis has, at all indices.

    x: an array, or a tree of arrays.  Raises UnboundAxisError for an axis that is not mapped.

    >>> vmap(lambda x: pbroadcast(x, "i", 1), axis_name="i")(numpy.arange(3))
    Array([1, 1, 1], dtype=int32)
    """
    is_source = axis_index(axis_name) == source

    def leaf(x: Any) -> Any:
        dtype = get_aval(x).dtype
        number = convert(x, np.dtype("int32")) if dtypes.kind(dtype) == "b" else asarray(x)
        total = psum(where(is_source, number, number.dtype.type(0)), axis_name)
        return convert(total, dtype)

    result: _T = tree.map(leaf, x)
    return result


def _place(names: Any, groups: Groups) -> Any:
    """Return the index of the running code in its group."""
    index = axis_index(names)
    if groups is None:
        return index
    places = {i: place for group in groups for place, i in enumerate(group)}
    return asarray(np.asarray([places[i] for i in range(len(places))], np.int32))[index]


def _exchanged(operand: Any, output: Any, numbers: list[Any], names: Any, groups: Groups) -> Array:
    """Return the output with the rows that all others send to it.

    Each output row is read from the first index whose part contains it.
    """
    parts = all_gather(operand, names, axis_index_groups=groups)
    table = all_gather(stack(numbers[:3]), names, axis_index_groups=groups)
    count, length = parts.shape[:2]
    if not length or not output.shape[0]:
        return asarray(output)
    table = table.reshape(count, 3, count, -1)[:, :, _place(names, groups)]
    per_source = table.shape[2]
    offsets, sizes, starts = (table[:, i].reshape(-1, 1) for i in range(3))
    rows = np.arange(output.shape[0], dtype=np.int32)[None]
    places = rows - starts
    is_inside = (places >= 0) & (places < sizes)
    chosen = argmax(is_inside, 0)
    row = (offsets + places)[chosen, rows[0]].clip(0, length - 1)
    received = parts[chosen // per_source, row]
    is_sent = is_inside.any(0).reshape(-1, *(1,) * (output.ndim - 1))
    return where(is_sent, received, output)


def _checked(operand: Any, output: Any, numbers: list[Any], groups: Groups) -> None:
    for name, x in zip(_NUMBERS, numbers, strict=True):
        aval = get_aval(x)
        if dtypes.kind(aval.dtype) not in "iu":
            raise ArgumentError(f"ragged_all_to_all {name} must be integer type.")
        if aval.ndim != 1 or not aval.size:
            raise ShapeError(
                f"ragged_all_to_all {name} must be rank 1 with positive dimension size, but got "
                f"shape {aval.shape}"
            )
    mine, theirs = get_aval(operand), get_aval(output)
    if mine.dtype != theirs.dtype:
        raise DTypeError(
            f"ragged_all_to_all needs an operand and an output of one dtype, and got "
            f"{mine.long_name()} and {theirs.long_name()}"
        )
    if not mine.ndim or mine.shape[1:] != theirs.shape[1:]:
        raise ShapeError(
            "ragged_all_to_all needs an operand and an output that differ in the first dimension "
            f"alone, and got {mine.long_name()} and {theirs.long_name()}"
        )


ragged_all_to_all_p = create_call_primitive("ragged_all_to_all")


def ragged_all_to_all(
    operand: ArrayLike,
    output: ArrayLike,
    input_offsets: ArrayLike,
    send_sizes: ArrayLike,
    output_offsets: ArrayLike,
    recv_sizes: ArrayLike,
    *,
    axis_name: AxisName,
    axis_index_groups: Groups = None,
) -> Array:
    """Exchange ragged parts of arrays along a mapped axis, as `all_to_all` does with equal parts.

    operand: the rows to send.  output: the array that receives rows, of the operand's dtype and
    shape without the first dimension.  `input_offsets[j]` and `send_sizes[j]`: the first row, and
    the number of rows, that are sent to the index j of the axis; `output_offsets[j]`: their first
    row in the output of j.  `recv_sizes[j]`: the number of rows that j sends.  All four are vectors
    of integers.  The result is the output with the received rows.

    Each index gathers the operands of all others.  Raises ArgumentError or ShapeError for offsets
    and sizes that are no vectors of integers, and DTypeError or ShapeError for arrays that do not
    fit.

    >>> def f(x):
    ...     sizes, zero = numpy.ones(2, "int32"), numpy.zeros(2, "int32")
    ...     out, places = numpy.zeros(2, "int32"), lax.axis_index("i") + zero
    ...     return ragged_all_to_all(x, out, numpy.arange(2), sizes, places, sizes, axis_name="i")
    >>> vmap(f, axis_name="i")(numpy.arange(4).reshape(2, 2))
    Array([[0, 2],
           [1, 3]], dtype=int32)
    """
    numbers = [input_offsets, send_sizes, output_offsets, recv_sizes]
    _checked(operand, output, numbers, axis_index_groups)
    numbers = [convert(x, np.dtype("int32")) for x in numbers]
    operands = [asarray(operand), asarray(output), *numbers]
    every = frozenset[Any]().union(*[get_aval(x).vma for x in operands])
    operands = [varying(x, every) for x in operands]

    def flat(*xs: Any) -> list[Any]:
        return [_exchanged(xs[0], xs[1], list(xs[2:]), axis_name, axis_index_groups)]

    program = stage(flat, [get_aval(x) for x in operands], what="ragged_all_to_all")
    groups = axis_index_groups and tuple(map(tuple, axis_index_groups))
    names = tuple(axis_name) if isinstance(axis_name, tuple | list) else (axis_name,)
    result: Array = ragged_all_to_all_p.bind(
        *operands, call_jaxpr=program, axis_name=names, axis_index_groups=groups
    )[0]
    return result
