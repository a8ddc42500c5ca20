"""Calls of LAPACK on small matrices, and functions of StableHLO that compute the same.

XLA compiles a loop that calls LAPACK kernel by kernel.  With such functions in place of the calls,
it can compile the loop to one function; see `compiled_loops`.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from olympus_core.base.avals import ShapedArray, shaped
from olympus_core.lowering.whole_module import lower_function
from olympus_core.mlir import bindings as mlir
from olympus_core.mlir.lapack import call_options, routine_of

if TYPE_CHECKING:
    from olympus_core.mlir.bindings import ir

#: rows and columns of a matrix that is decomposed, at most
ROWS = 7
#: the same for a factorization without a solution: of 7 rows, LAPACK takes 0.7 of the time
_ROWS_ALONE = 5
_INT32 = np.dtype("int32")
_DTYPES = {"f32": np.dtype("float32"), "f64": np.dtype("float64"), "i32": _INT32}


class _Routine(NamedTuple):
    """A routine of LAPACK: the names of its options, and the time to compile its function.

    Compiling the function takes `milliseconds` in a loop, for matrices of more than 2 rows.
    """

    options: frozenset[str]
    milliseconds: float


_ROUTINES = {
    "getrf": _Routine(frozenset(), 43),
    "potrf": _Routine(frozenset(["uplo"]), 25),
    "trsm": _Routine(frozenset(["diag", "side", "trans_x", "uplo"]), 18),
}
_OF_TWO_ROWS = 0.6  # the time to compile a function for 2 rows, as a part of that for more
_OF_VECTOR = 7  # the milliseconds to compile a solution for a vector


class Decomposition(NamedTuple):
    """A call of LAPACK on matrices: its routine, its options, and its types."""

    routine: str
    options: tuple[tuple[str, str], ...]
    operands: tuple[ShapedArray, ...]
    results: tuple[ShapedArray, ...]

    @property
    def milliseconds(self) -> float:
        """The time to compile the function in a loop, about."""
        if self.is_solution and 1 in self.results[0].shape[-2:]:
            return _OF_VECTOR
        part = _OF_TWO_ROWS if max(self.operands[0].shape[-2:]) <= 2 else 1
        return part * _ROUTINES[self.routine].milliseconds

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
    name = routine_of(operation)
    routine = _ROUTINES.get(name)
    if routine is None or not operation.operands or not _has_layouts(operation):
        return None
    options = call_options(operation)
    if options is None or options.keys() != routine.options:
        return None
    operands, results = (
        [_aval(x.type) for x in values] for values in (operation.operands, operation.results)
    )
    is_routine = results == _results(name, operands, options)
    if not is_routine or not _is_for(operands[0].dtype, operation):
        return None
    if not all(0 < n <= ROWS for n in operands[0].shape[-2:]):
        return None
    return Decomposition(name, tuple(sorted(options.items())), tuple(operands), tuple(results))


def _aval(kind: Any) -> ShapedArray:
    dtype: Any = _DTYPES.get(str(kind.element_type), np.dtype("V1"))  # of no routine's types
    return shaped(tuple(kind.shape), dtype)


def _is_for(dtype: np.dtype[Any], operation: ir.Operation) -> bool:
    """Return True if a call has the routine for matrices of a dtype."""
    target: str = operation.attributes["call_target_name"].value
    return target.startswith("lapack_d" if dtype == _DTYPES["f64"] else "lapack_s")


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


def _results(
    routine: str, operands: Sequence[ShapedArray], options: dict[str, str]
) -> list[ShapedArray] | None:
    """Return the types of the results of a routine; None for operands that it does not take."""
    a, *others = operands
    if len(a.shape) < 2 or a.dtype not in (_DTYPES["f32"], _DTYPES["f64"]):
        return None
    *batch, rows, columns = a.shape
    if routine == "getrf":
        pivots = shaped((*batch, min(rows, columns)), _INT32)
        return None if others else [a, pivots, shaped(tuple(batch), _INT32)]
    if rows != columns:
        return None
    if routine == "potrf":
        return None if others else [a, shaped(tuple(batch), _INT32)]
    (b,) = others if len(others) == 1 else (a,)
    side = -2 if options.get("side") == "L" else -1
    has_rows = b.shape[:-2] == tuple(batch) and b.shape[side] == rows and b.dtype == a.dtype
    return [b] if others and has_rows else None


@functools.lru_cache(maxsize=256)
def _text(call: Decomposition) -> str:
    """Return the text of a module, because a module belongs to one context."""
    from olympus_core.primitives.linalg.portable import small  # few programs need it

    function = functools.partial(getattr(small, call.routine), **dict(call.options))
    with mlir.converting:
        return str(lower_function(function, call.operands, call.results))
