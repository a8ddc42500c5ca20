"""Selection between arrays by conditions or numbers, and replacement: `select`, `put`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from olympus_core.base import dtypes
from olympus_core.base.errors import (
    ArgumentError,
    DTypeError,
    ShapeError,
    concrete_value_expected,
)
from olympus_core.ir.tracer import Array, Tracer
from olympus_core.ir.typing import ArrayLike, ArrayOrKeys, ArraysOrKeys
from olympus_core.library.lax.reduction import cumsum
from olympus_core.library.numpy.creation.array import asarray
from olympus_core.library.numpy.elementwise.arithmetic import clip, remainder
from olympus_core.library.numpy.elementwise.logic import not_equal
from olympus_core.library.numpy.indexing.reading import getitem
from olympus_core.library.numpy.manipulation.shapes import broadcast_arrays, ravel, reshape
from olympus_core.library.numpy.manipulation.splitting import unstack
from olympus_core.library.operands import choose as choose_between
from olympus_core.library.operands import operand, reject_out
from olympus_core.library.promotion import convert, promote_dtypes
from olympus_core.library.structural import structural
from olympus_core.primitives.elementwise.selection import select_n_p


@structural(1, 2)
def select(
    condlist: Sequence[ArrayLike], choicelist: Sequence[ArrayOrKeys], default: ArrayOrKeys = 0
) -> Array:
    """Return, for each element, the choice of the first condition that is True, or `default`.

    Raises ArgumentError unless the numbers of choices and conditions are equal and at least one.

    >>> x = asarray([-1.0, 0.0, 2.0])
    >>> select([x < 0, x > 0], [-x, x * 10], 5)
    Array([ 1.,  5., 20.], dtype=float32)
    """
    if len(condlist) != len(choicelist) or not condlist:
        raise ArgumentError(
            f"select needs as many choices as conditions, at least one: it got {len(condlist)} "
            f"conditions and {len(choicelist)} choices"
        )
    conditions = [convert(asarray(c), dtypes.bool_) for c in condlist]
    choices = promote_dtypes(default, *choicelist)
    result = choices[0]
    for condition, choice in zip(reversed(conditions), reversed(choices[1:]), strict=True):
        result = choose_between("select", condition, choice, result)
    return asarray(result)


@structural(1)
def choose(a: ArrayLike, choices: ArraysOrKeys, out: None = None, mode: str = "raise") -> Array:
    """Return, for each number in `a`, the element at its position in the choice of that number.

    `choices` is a sequence of arrays, or the rows of one array, which broadcast with `a`.  Numbers
    out of range are clamped for `mode` "clip", wrapped around for "wrap", and raise for "raise"
    (IndexingError; ConcretizationTypeError under a trace).

    >>> choose(asarray([1, 0]), [asarray([1, 2]), asarray([3, 4])])
    Array([3, 2], dtype=int32)
    """
    reject_out("choose", out)
    index, aval = operand("choose", a)
    if dtypes.kind(aval.dtype) not in "iu":
        raise DTypeError(f"choose needs integers as indices, and got {aval.long_name()}")
    cases = unstack(choices) if isinstance(choices, (Array, np.ndarray)) else choices
    count = len(cases)
    if mode == "raise":
        _check_range(index, count)
    elif mode == "wrap":
        index = remainder(index, count)
    elif mode != "clip":
        raise ArgumentError(f"choose takes mode 'raise', 'wrap' or 'clip', and got {mode!r}")
    index = clip(index, 0, count - 1)
    index, *cases = broadcast_arrays(index, *promote_dtypes(*cases))
    result: Array = select_n_p.bind(convert(index, np.dtype("int32")), *cases)
    return result


def _check_range(index: Any, count: int) -> None:
    if isinstance(index, Tracer):
        raise concrete_value_expected(
            f"choose cannot check, while tracing, that each number is below {count}",
            hint="pass mode='clip' or mode='wrap'",
        )
    values = np.asarray(index)
    if values.size and not 0 <= values.min() <= values.max() < count:
        raise ArgumentError(
            f"invalid entry in choice array: choose of {count} choices got a number that is not "
            f"below {count}"
        )


def _in_place(name: str) -> ArgumentError:
    return ArgumentError(f"{name} cannot write to an array: pass inplace=False, and use the result")


def place(arr: ArrayLike, mask: ArrayLike, vals: ArrayLike, *, inplace: bool = True) -> Array:
    """Return a copy of `arr` with the elements where `mask` is True replaced by `vals` in order.

    `vals` is repeated as often as needed.  Raises ArgumentError without `inplace=False`.

    >>> place(asarray([1, 2, 3]), asarray([True, False, True]), asarray([7, 8]), inplace=False)
    Array([7, 2, 8], dtype=int32)
    """
    if inplace:
        raise _in_place("place")
    array, condition, values = asarray(arr), asarray(mask), ravel(vals)
    if array.size != condition.size:
        raise ShapeError(f"place needs a mask of {array.size} elements, and got {condition.size}")
    if not values.size:
        if array.size:
            raise ShapeError("place needs at least one value")
        return array
    flat = ravel(not_equal(condition, 0))
    turn = remainder(cumsum(flat.astype(np.int32)) - 1, values.size)
    chosen = convert(getitem(values, turn), array.dtype)
    return reshape(choose_between("place", flat, chosen, ravel(array)), array.shape)


def put(
    a: ArrayLike, ind: ArrayLike, v: ArrayLike, mode: str | None = None, *, inplace: bool = True
) -> Array:
    """Return a copy of `a` with the elements at flat indices replaced by `v`, repeated as needed.

    Indices out of range are clamped, or, for `mode` "wrap", wrapped around.  Raises ArgumentError
    without `inplace=False`.

    >>> put(asarray([1, 2, 3]), asarray([0, 2]), 7, inplace=False)
    Array([7, 2, 7], dtype=int32)
    """
    if inplace:
        raise _in_place("put")
    array, index, values = asarray(a), ravel(ind), ravel(v)
    if mode not in (None, "clip", "wrap"):
        raise ArgumentError(f"put takes mode None, 'clip' or 'wrap', and got {mode!r}")
    if not array.size or not index.size or not values.size:
        return array
    if mode == "wrap":
        index = remainder(index, array.size)
    values = getitem(values, np.arange(index.size) % values.size)
    flat = ravel(array).at[index].set(convert(values, array.dtype), mode="clip")
    return reshape(flat, array.shape)
