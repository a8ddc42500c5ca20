"""`lax.optimization_barrier`, which keeps a compiler from moving operations across it."""

from __future__ import annotations

from typing import TypeVar

from olympus_core.base import tree
from olympus_core.library.promotion import check_arrays
from olympus_core.primitives.barrier import optimization_barrier_p

_T = TypeVar("_T")


def optimization_barrier(operand: _T, /) -> _T:
    """Return a tree of arrays as it is, across which the compiler moves and merges no operations.

    All of the arrays are computed before any of the results is used.  Derivatives and batches
    have barriers of their own.  Raises DTypeError for a leaf that is not an array.

    >>> optimization_barrier((1.0, 2.0))
    (Array(1., dtype=float32, weak_type=True), Array(2., dtype=float32, weak_type=True))
    """
    leaves, treedef = tree.flatten(operand)
    check_arrays("optimization_barrier", *leaves)
    passed: _T = treedef.unflatten(optimization_barrier_p.bind(*leaves) if leaves else [])
    return passed
