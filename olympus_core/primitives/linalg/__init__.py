"""Decompositions and solutions of matrices, a module a decomposition."""

from olympus_core.primitive import Primitive
from olympus_core.primitives.linalg.cholesky import cholesky_p
from olympus_core.primitives.linalg.eig import eig_p
from olympus_core.primitives.linalg.eigh import eigh_p
from olympus_core.primitives.linalg.factored import factored_solve_p
from olympus_core.primitives.linalg.lu import lu_p
from olympus_core.primitives.linalg.permutation import lu_pivots_to_permutation_p
from olympus_core.primitives.linalg.qr import geqrf_p, householder_product_p, qr_p
from olympus_core.primitives.linalg.svd import svd_p
from olympus_core.primitives.linalg.triangular import triangular_solve_p

__all__ = [
    "PRIMITIVES",
    "cholesky_p",
    "eig_p",
    "eigh_p",
    "factored_solve_p",
    "geqrf_p",
    "householder_product_p",
    "lu_p",
    "lu_pivots_to_permutation_p",
    "qr_p",
    "svd_p",
    "triangular_solve_p",
]

PRIMITIVES: tuple[Primitive, ...] = (
    cholesky_p,
    triangular_solve_p,
    factored_solve_p,
    lu_p,
    lu_pivots_to_permutation_p,
    geqrf_p,
    householder_product_p,
    qr_p,
    eigh_p,
    eig_p,
    svd_p,
)
