"""What factorizations cost, by the names that LAPACK's routines have."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

from olympus_core.analysis import formulas
from olympus_core.analysis.view import Counts, Operation, Tensor

__all__ = ["ROUTINES", "Rule"]

Rule = Callable[[Operation], Counts | None]


def _matrices(tensor: Tensor) -> tuple[int, int, int]:
    """How many matrices there are, their rows, and their columns."""
    *batch, rows, columns = tensor.sizes
    return math.prod(batch), rows, columns


def _for_each(op: Operation, flops: int) -> Counts:
    """So many for each matrix of the first operand; four times as many of complex ones."""
    count = _matrices(op.operands[0])[0] * (4 if op.operands[0].is_complex else 1)
    return Counts(flops=count * flops, bytes=op.moved)


Formula = Callable[[Operation, int, int], int]


def _factorization(formula: Formula) -> Rule:
    """A rule from a formula of the operation and of the first operand's rows and columns."""

    def rule(op: Operation) -> Counts:
        _, rows, columns = _matrices(op.operands[0])
        return _for_each(op, formula(op, rows, columns))

    return rule


def _asks(op: Operation, *names: str) -> bool:
    """Whether one of a routine's options is given and not off: letter N, 0, or false."""
    options = op.attributes.get("options", {})
    return any(options.get(name, 0) not in (0, ord("N")) for name in names)


def _is_full(op: Operation) -> bool:
    return bool(op.attributes.get("options", {}).get("mode") == ord("A"))


def _reflectors(op: Operation, rows: int, columns: int) -> int:
    return formulas.householder_product(rows, columns, op.operands[1].sizes[-1])


def _reflectors_times(op: Operation, rows: int, columns: int) -> int:
    """The reflectors are in the first operand, and the third is what they are applied to."""
    _, m, n = _matrices(op.operands[2])
    return formulas.householder_times(m, n, op.operands[1].sizes[-1], left=rows == m)


def _triangular(op: Operation) -> Counts:
    """n^2 for each right-hand side, whichever side the matrix stands on."""
    a, b = op.operands[:2]
    n = a.sizes[-1]
    sides = b.elements // n if n else 0
    flops = formulas.triangular_solve(n, sides) * (4 if b.is_complex else 1)
    return Counts(flops=flops, bytes=op.moved)


def _tridiagonal_solve(op: Operation) -> Counts:
    """The diagonals come first, and the right-hand sides last."""
    count, n, sides = _matrices(op.operands[3])
    flops = count * formulas.tridiagonal_solve(n, sides)
    return Counts(flops=flops * (4 if op.operands[3].is_complex else 1), bytes=op.moved)


#: routines of LAPACK and of the libraries for GPUs that have its names
ROUTINES: Mapping[str, Rule] = {
    "potrf": _factorization(lambda op, m, n: formulas.cholesky(n)),
    "getrf": _factorization(lambda op, m, n: formulas.lu(m, n)),
    "geqrf": _factorization(lambda op, m, n: formulas.qr(m, n)),
    "geqp3": _factorization(lambda op, m, n: formulas.qr(m, n)),
    "orgqr": _factorization(_reflectors),
    "ungqr": _factorization(_reflectors),
    "ormqr": _factorization(_reflectors_times),
    "unmqr": _factorization(_reflectors_times),
    "syevd": _factorization(lambda op, m, n: formulas.eigh(n, vectors=_eigenvectors(op))),
    "heevd": _factorization(lambda op, m, n: formulas.eigh(n, vectors=_eigenvectors(op))),
    "syevj": _factorization(lambda op, m, n: formulas.eigh(n, vectors=_eigenvectors(op))),
    "gesdd": _factorization(lambda op, m, n: _svd(op, m, n)),
    "gesvd": _factorization(lambda op, m, n: _svd(op, m, n)),
    "gesvdj": _factorization(lambda op, m, n: _svd(op, m, n)),
    "gesvdp": _factorization(lambda op, m, n: _svd(op, m, n)),
    "geev": _factorization(
        lambda op, m, n: formulas.eig(
            n, vectors=_asks(op, "compute_left", "compute_right", "left", "right")
        )
    ),
    "gees": _factorization(lambda op, m, n: formulas.schur(n, vectors=_asks(op, "mode"))),
    "gehrd": _factorization(lambda op, m, n: formulas.hessenberg(n)),
    "sytrd": _factorization(lambda op, m, n: formulas.tridiagonal(n)),
    "hetrd": _factorization(lambda op, m, n: formulas.tridiagonal(n)),
    "trsm": _triangular,
    "gtsv": _tridiagonal_solve,
    "gtsv2": _tridiagonal_solve,
}


def _eigenvectors(op: Operation) -> bool:
    """Whether eigenvectors are wanted; the routines of GPUs give them always."""
    return "mode" not in op.attributes.get("options", {}) or _asks(op, "mode")


def _svd(op: Operation, m: int, n: int) -> int:
    """Vectors are wanted unless LAPACK's mode, or the option of GPUs, says not."""
    options = op.attributes.get("options", {})
    vectors = _asks(op, "mode", "compute_uv") or not options.keys() & {"mode", "compute_uv"}
    full = _is_full(op) or _asks(op, "full_matrices")
    return formulas.svd(m, n, vectors=vectors, full=full)
