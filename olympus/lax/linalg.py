"""`olympus.lax.linalg`: decompositions and solutions of matrices."""

import typing as _typing

from olympus_core.base.lazy_modules import on_demand as _on_demand
from olympus_core.library.lax.condensed import hessenberg as hessenberg
from olympus_core.library.lax.condensed import schur as schur
from olympus_core.library.lax.condensed import tridiagonal as tridiagonal
from olympus_core.library.lax.condensed import tridiagonal_solve as tridiagonal_solve
from olympus_core.library.lax.linalg import EighImplementation as EighImplementation
from olympus_core.library.lax.linalg import EigImplementation as EigImplementation
from olympus_core.library.lax.linalg import SvdAlgorithm as SvdAlgorithm
from olympus_core.library.lax.linalg import cholesky as cholesky
from olympus_core.library.lax.linalg import eig as eig
from olympus_core.library.lax.linalg import eigh as eigh
from olympus_core.library.lax.linalg import householder_product as householder_product
from olympus_core.library.lax.linalg import lu as lu
from olympus_core.library.lax.linalg import lu_pivots_to_permutation as lu_pivots_to_permutation
from olympus_core.library.lax.linalg import qr as qr
from olympus_core.library.lax.linalg import svd as svd
from olympus_core.library.lax.linalg import symmetric_product as symmetric_product
from olympus_core.library.lax.linalg import triangular_solve as triangular_solve
from olympus_core.library.lax.qdwh import qdwh as qdwh
from olympus_core.library.lax.reflectors import cholesky_update as cholesky_update
from olympus_core.library.lax.reflectors import ormqr as ormqr
from olympus_core.primitives.linalg.cholesky import cholesky_p as cholesky_p
from olympus_core.primitives.linalg.condensed import hessenberg_p as hessenberg_p
from olympus_core.primitives.linalg.condensed import schur_p as schur_p
from olympus_core.primitives.linalg.condensed import tridiagonal_p as tridiagonal_p
from olympus_core.primitives.linalg.eig import eig_p as eig_p
from olympus_core.primitives.linalg.eigh import eigh_p as eigh_p
from olympus_core.primitives.linalg.lu import lu_p as lu_p
from olympus_core.primitives.linalg.permutation import (
    lu_pivots_to_permutation_p as lu_pivots_to_permutation_p,
)
from olympus_core.primitives.linalg.qr import householder_product_p as householder_product_p
from olympus_core.primitives.linalg.qr import qr_p as qr_p
from olympus_core.primitives.linalg.svd import svd_p as svd_p
from olympus_core.primitives.linalg.triangular import triangular_solve_p as triangular_solve_p
from olympus_core.primitives.linalg.tridiagonal_solve import (
    tridiagonal_solve_p as tridiagonal_solve_p,
)

if _typing.TYPE_CHECKING:
    from olympus_core.extension.composed_primitives import cholesky_update_p as cholesky_update_p
    from olympus_core.extension.composed_primitives import ormqr_p as ormqr_p
    from olympus_core.extension.composed_primitives import (
        symmetric_product_p as symmetric_product_p,
    )
else:
    __getattr__, __dir__ = _on_demand(
        __name__,
        elsewhere={
            "olympus_core.extension.composed_primitives": (
                *("cholesky_update_p", "ormqr_p", "symmetric_product_p"),
            ),
        },
    )
