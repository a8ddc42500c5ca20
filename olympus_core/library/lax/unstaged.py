"""Control flow run by Python: `cond`, `while_loop` and `scan` under `disable_jit`."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np

from olympus_core.base import tree
from olympus_core.base.context import state
from olympus_core.base.errors import ConcretizationTypeError
from olympus_core.ir.tracer import Tracer
from olympus_core.library.lax.slicing import dynamic_index_in_dim
from olympus_core.library.promotion import promote_dtypes
from olympus_core.primitives.joining import stack_p
from olympus_core.transforms.data import is_float0

_T = TypeVar("_T")


def wanted(*decisive: Any) -> bool:
    """Return True if Python is to run control flow that depends on these values."""
    return state.disable_jit and not any(isinstance(x, Tracer) for x in decisive)


def branch(index: Any, branches: Sequence[Callable[..., _T]], operands: Sequence[Any]) -> _T:
    """Return the result of the branch at the index, clamped to the valid range."""
    return branches[min(max(int(index), 0), len(branches) - 1)](*operands)


def repeat(
    cond_fun: Callable[[_T], Any], body_fun: Callable[[_T], _T], start: _T
) -> tuple[bool, _T]:
    """Run a while loop; return (True, last value), or (False, first) if a condition is traced."""
    value = start
    try:
        while cond_fun(value):
            value = body_fun(value)
    except ConcretizationTypeError:
        return False, start
    return True, value


def fold(
    f: Callable[[Any, Any], tuple[Any, Any]], carry: Any, xs: Any, length: int, reverse: bool
) -> tuple[Any, Any]:
    """Fold `f` over the leading axes of `xs`: (carry, stacked ys); `length` is at least 1."""
    rows: list[Any] = []
    for i in range(length):
        place = length - 1 - i if reverse else i
        carry, y = f(carry, tree.map(functools.partial(_row, place), xs))
        rows.append(y)
    if reverse:
        rows.reverse()
    return carry, tree.map(_stacked, *rows)


def _row(i: int, x: Any) -> Any:
    return dynamic_index_in_dim(x, i, keepdims=False)


def _stacked(*rows: Any) -> Any:
    if is_float0(rows[0]):
        return np.stack(rows)
    return stack_p.bind(*promote_dtypes(*rows), axis=0)
