"""Matrices of compressed rows and columns."""

from olympus_core.extension.sparse_primitives import csr_fromdense_p as csr_fromdense_p
from olympus_core.extension.sparse_primitives import csr_matmat_p as csr_matmat_p
from olympus_core.extension.sparse_primitives import csr_matvec_p as csr_matvec_p
from olympus_core.extension.sparse_primitives import csr_todense_p as csr_todense_p
from olympus_core.library.sparse.matrices import CSC as CSC
from olympus_core.library.sparse.matrices import CSR as CSR
from olympus_core.library.sparse.matrices import csr_fromdense as csr_fromdense
from olympus_core.library.sparse.matrices import csr_matmat as csr_matmat
from olympus_core.library.sparse.matrices import csr_matvec as csr_matvec
from olympus_core.library.sparse.matrices import csr_todense as csr_todense
