"""The costs of factorizations, by the names of LAPACK's routines."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

from olympus_core.analysis.operations import formulas
from olympus_core.analysis.operations.view import Counts, OperationView, Tensor

Rule = Callable[[OperationView], Counts | None]


def _matrices(tensor: Tensor) -> tuple[int, int, int]:
    """Return the number of matrices, their rows, and their columns."""
    *batch, rows, columns = tensor.sizes
    return math.prod(batch), rows, columns


def _for_each(op: OperationView, flops: int) -> Counts:
    """Count `flops` for each matrix of the first operand; four times as many if complex."""
    count = _matrices(op.operands[0])[0] * (4 if op.operands[0].is_complex else 1)
    return Counts(flops=count * flops, bytes=op.moved)


Formula = Callable[[OperationView, int, int], int]


def _factorization(formula: Formula) -> Rule:
    """Return a rule from a formula of the operation and the first operand's rows and columns."""

    def rule(op: OperationView) -> Counts:
        _, rows, columns = _matrices(op.operands[0])
        return _for_each(op, formula(op, rows, columns))

    return rule


def _is_enabled(op: OperationView, *names: str) -> bool:
    """Return True if one of a routine's options is present and not off: letter N, 0, or false."""
    options = op.attributes.get("options", {})
    return any(options.get(name, 0) not in (0, ord("N")) for name in names)


def _is_full(op: OperationView) -> bool:
    return bool(op.attributes.get("options", {}).get("mode") == ord("A"))


def _reflectors(op: OperationView, rows: int, columns: int) -> int:
    return formulas.householder_product_cost(rows, columns, op.operands[1].sizes[-1])


def _reflectors_times(op: OperationView, rows: int, columns: int) -> int:
    """Return the flops of applying the reflectors of the first operand to the third operand."""
    _, m, n = _matrices(op.operands[2])
    return formulas.householder_times(m, n, op.operands[1].sizes[-1], left=rows == m)


def _triangular(op: OperationView) -> Counts:
    """Return the cost of a triangular solve: n^2 for each right-hand side, on either side."""
    a, b = op.operands[:2]
    n = a.sizes[-1]
    sides = b.elements // n if n else 0
    flops = formulas.triangular_solve(n, sides) * (4 if b.is_complex else 1)
    return Counts(flops=flops, bytes=op.moved)


def _tridiagonal_solve(op: OperationView) -> Counts:
    """Return the cost of a tridiagonal solve; the right-hand sides are the last operand."""
    count, n, sides = _matrices(op.operands[3])
    flops = count * formulas.tridiagonal_solve(n, sides)
    return Counts(flops=flops * (4 if op.operands[3].is_complex else 1), bytes=op.moved)


#: routines of LAPACK and of the libraries for GPUs that have its names
ROUTINES: Mapping[str, Rule] = {
    "potrf": _factorization(lambda op, m, n: formulas.cholesky(n)),
    "getrf": _factorization(lambda op, m, n: formulas.lu_cost(m, n)),
    "geqrf": _factorization(lambda op, m, n: formulas.qr_cost(m, n)),
    "geqp3": _factorization(lambda op, m, n: formulas.qr_cost(m, n)),
    "orgqr": _factorization(_reflectors),
    "ungqr": _factorization(_reflectors),
    "ormqr": _factorization(_reflectors_times),
    "unmqr": _factorization(_reflectors_times),
    "syevd": _factorization(lambda op, m, n: formulas.eigh_cost(n, vectors=_eigenvectors(op))),
    "heevd": _factorization(lambda op, m, n: formulas.eigh_cost(n, vectors=_eigenvectors(op))),
    "syevj": _factorization(lambda op, m, n: formulas.eigh_cost(n, vectors=_eigenvectors(op))),
    "gesdd": _factorization(lambda op, m, n: _svd(op, m, n)),
    "gesvd": _factorization(lambda op, m, n: _svd(op, m, n)),
    "gesvdj": _factorization(lambda op, m, n: _svd(op, m, n)),
    "gesvdp": _factorization(lambda op, m, n: _svd(op, m, n)),
    "geev": _factorization(
        lambda op, m, n: formulas.eig_cost(
            n, vectors=_is_enabled(op, "compute_left", "compute_right", "left", "right")
        )
    ),
    "gees": _factorization(lambda op, m, n: formulas.schur(n, vectors=_is_enabled(op, "mode"))),
    "gehrd": _factorization(lambda op, m, n: formulas.hessenberg(n)),
    "sytrd": _factorization(lambda op, m, n: formulas.tridiagonal(n)),
    "hetrd": _factorization(lambda op, m, n: formulas.tridiagonal(n)),
    "trsm": _triangular,
    "gtsv": _tridiagonal_solve,
    "gtsv2": _tridiagonal_solve,
}


def _eigenvectors(op: OperationView) -> bool:
    """Return True if eigenvectors are computed; the routines of GPUs always compute them."""
    return "mode" not in op.attributes.get("options", {}) or _is_enabled(op, "mode")


def _svd(op: OperationView, m: int, n: int) -> int:
    """Return the flops of an SVD, with vectors unless an option of the routine is off."""
    options = op.attributes.get("options", {})
    vectors = _is_enabled(op, "mode", "compute_uv") or not options.keys() & {"mode", "compute_uv"}
    full = _is_full(op) or _is_enabled(op, "full_matrices")
    return formulas.svd_cost(m, n, vectors=vectors, full=full)
