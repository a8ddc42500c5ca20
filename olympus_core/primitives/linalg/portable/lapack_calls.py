"""Calls of LAPACK in programs of other tools, as functions on primitives.

Each function takes the operands of a routine and the letters of its options, and returns the
routine's results.  `info` is 0: a decomposition that fails is NaN already.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from olympus_core.base import dtypes
from olympus_core.base.avals import get_aval, shape_of
from olympus_core.ir.primitive import op
from olympus_core.mlir.lapack import call_of
from olympus_core.primitives.linalg.algebra import adjoint
from olympus_core.primitives.linalg.portable.arrays import zeros

if TYPE_CHECKING:
    from olympus_core.lowering.module import LoweringContext
    from olympus_core.mlir.bindings import ir

_INT32 = np.dtype("int32")


def _info(a: Any) -> Any:
    return zeros(shape_of(a)[:-2], _INT32)


def _getrf(a: Any) -> tuple[Any, ...]:
    factors, pivots, _ = op.lu(a)
    return factors, op.add(pivots, np.int32(1)), _info(a)


def _potrf(a: Any, *, uplo: str) -> tuple[Any, ...]:
    factor = op.cholesky(a) if uplo == "L" else adjoint(op.cholesky(adjoint(a)))
    return factor, _info(a)


def _geqrf(a: Any) -> tuple[Any, ...]:
    reflectors, taus = op.geqrf(a)
    return reflectors, taus


def _orgqr(a: Any, taus: Any) -> tuple[Any, ...]:
    return (op.householder_product(a, taus),)


def _syevd(a: Any, *, uplo: str, mode: str = "V") -> tuple[Any, ...]:
    vectors, values = op.eigh(a, lower=uplo == "L", jacobi=False)
    return vectors, values, _info(a)


def _gesdd(a: Any, *, mode: str) -> tuple[Any, ...]:
    options = {"full_matrices": mode == "A", "compute_uv": True, "routine": "gesdd"}
    return a, *op.svd(a, **options), _info(a)


def _geev(a: Any, *, compute_left: str = "V", compute_right: str = "V") -> tuple[Any, ...]:
    values, left, right = op.eig(a, left=True, right=True, differentiable=False)
    is_real = dtypes.kind(get_aval(a).dtype) != "c"
    parts = (op.real(values), op.imag(values)) if is_real else (values,)
    return *parts, left, right, _info(a)


def _trsm(a: Any, b: Any, *, side: str, uplo: str, trans_x: str, diag: str) -> tuple[Any, ...]:
    options = {
        "left_side": side == "L",
        "lower": uplo == "L",
        "transpose_a": trans_x != "N",
        "conjugate_a": trans_x == "C",
        "unit_diagonal": diag == "U",
    }
    return (op.triangular_solve(a, b, **options),)


_ROUTINES: dict[str, Callable[..., tuple[Any, ...]]] = {
    "getrf": _getrf,
    "potrf": _potrf,
    "geqrf": _geqrf,
    "orgqr": _orgqr,
    "ungqr": _orgqr,
    "syevd": _syevd,
    "heevd": _syevd,
    "gesdd": _gesdd,
    "geev": _geev,
    "trsm": _trsm,
}


def without_lapack(
    ctx: LoweringContext, operation: ir.Operation, operands: Sequence[ir.Value]
) -> list[ir.Value] | None:
    """Emit a call of LAPACK as operations of StableHLO, if the program may not call it.

    Return None for another operation, and for a routine that has no such form: it stays.
    """
    call = None if ctx.has_lapack else call_of(operation)
    if call is None:
        return None
    letters = dict(call.options)
    if call.routine == "gesdd":  # the mode N has no vectors, but their shapes in A or in S
        (a, *_), (_, _, u, vh, _) = call.operands, call.results
        is_full = (*u.shape[-1:], vh.shape[-2]) == a.shape[-2:]
        letters["mode"] = "A" if is_full else "S"
    return ctx.apply(_ROUTINES[call.routine], operands, **letters)
