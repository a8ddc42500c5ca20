"""Calls of LAPACK on small matrices, and functions of StableHLO that compute the same.

XLA compiles a loop that calls LAPACK kernel by kernel.  With such functions in place of the calls,
it can compile the loop to one function; see `compiled_loops`.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

import numpy as np

from olympus_core.lowering.whole_module import lower_function
from olympus_core.mlir import bindings as mlir
from olympus_core.mlir.lapack import LapackCall, call_of

if TYPE_CHECKING:
    from olympus_core.mlir.bindings import ir

#: rows and columns of a matrix that is decomposed, at most
ROWS = 7
#: the same for a factorization without a solution: of 7 rows, LAPACK takes 0.7 of the time
_ROWS_ALONE = 5
_DTYPES = np.dtype("float32"), np.dtype("float64")
#: the time to compile the function of a routine in a loop, for matrices of more than 2 rows
_MILLISECONDS = {"getrf": 43, "potrf": 25, "trsm": 18}
_OF_TWO_ROWS = 0.6  # the time to compile a function for 2 rows, as a part of that for more
_OF_VECTOR = 7  # the milliseconds to compile a solution for a vector


class Decomposition(LapackCall):
    """A call of LAPACK that has a function here."""

    __slots__ = ()

    @property
    def milliseconds(self) -> float:
        """The time to compile the function in a loop, about."""
        if self.is_solution and 1 in self.results[0].shape[-2:]:
            return _OF_VECTOR
        part = _OF_TWO_ROWS if max(self.operands[0].shape[-2:]) <= 2 else 1
        return part * _MILLISECONDS[self.routine]

    @property
    def is_solution(self) -> bool:
        """True for the solution of a triangular system, False for a factorization."""
        return self.routine == "trsm"

    @property
    def is_long_factorization(self) -> bool:
        """True for a factorization that is faster only with a solution in the same loop."""
        return not self.is_solution and max(self.operands[0].shape[-2:]) > _ROWS_ALONE

    def module(self, context: ir.Context) -> ir.Module:
        """Return a new module with one function, which computes the results of the call."""
        return mlir.ir.Module.parse(_text(self), context)


def decomposition_of(operation: ir.Operation) -> Decomposition | None:
    """Return the call of LAPACK that an operation is; None if it has no function here.

    The operation may have any context.

    >>> decomposition_of(call).routine
    'potrf'
    """
    call = call_of(operation)
    if call is None or call.routine not in _MILLISECONDS or not _has_layouts(operation):
        return None
    a = call.operands[0]
    if a.dtype not in _DTYPES or not all(0 < n <= ROWS for n in a.shape[-2:]):
        return None
    return Decomposition(*call)


def _has_layouts(operation: ir.Operation) -> bool:
    """Return True if LAPACK reads and writes the matrices as they are, not their transposes."""
    if "operand_layouts" not in operation.attributes:
        return False
    of_operands, of_results = (
        [[*np.asarray(order)] for order in operation.attributes[f"{name}_layouts"]]
        for name in ("operand", "result")
    )
    matrices, others = [*of_operands, *of_results[:1]], of_results[1:]
    are_by_columns = all(x == _by_columns(len(x)) for x in matrices)
    return are_by_columns and all(x == _by_rows(len(x)) for x in others)


def _by_rows(rank: int) -> list[int]:
    """Return the axes of an array, from the one of adjacent elements on."""
    return [*range(rank)][::-1]


def _by_columns(rank: int) -> list[int]:
    """Return the axes of matrices that are by columns, from the one of adjacent elements on."""
    return [rank - 2, rank - 1, *_by_rows(rank - 2)]


@functools.lru_cache(maxsize=256)
def _text(call: Decomposition) -> str:
    """Return the text of a module, because a module belongs to one context."""
    from olympus_core.primitives.linalg.portable import small  # few programs need it

    function = functools.partial(getattr(small, call.routine), **dict(call.options))
    with mlir.converting:
        return str(lower_function(function, call.operands, call.results))
