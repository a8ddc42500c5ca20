"""Matrices of coordinates."""

from olympus_core.extension.sparse_primitives import COOInfo as COOInfo
from olympus_core.extension.sparse_primitives import coo_fromdense_p as coo_fromdense_p
from olympus_core.extension.sparse_primitives import coo_matmat_p as coo_matmat_p
from olympus_core.extension.sparse_primitives import coo_matvec_p as coo_matvec_p
from olympus_core.extension.sparse_primitives import coo_todense_p as coo_todense_p
from olympus_core.library.sparse.matrices import COO as COO
from olympus_core.library.sparse.matrices import coo_fromdense as coo_fromdense
from olympus_core.library.sparse.matrices import coo_matmat as coo_matmat
from olympus_core.library.sparse.matrices import coo_matvec as coo_matvec
from olympus_core.library.sparse.matrices import coo_todense as coo_todense
