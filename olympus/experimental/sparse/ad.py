"""Derivatives with respect to sparse arrays."""

from olympus_core.library.sparse.derivatives import (
    flatten_fun_for_sparse_ad as flatten_fun_for_sparse_ad,
)
from olympus_core.library.sparse.derivatives import grad as grad
from olympus_core.library.sparse.derivatives import is_sparse as is_sparse
from olympus_core.library.sparse.derivatives import jacfwd as jacfwd
from olympus_core.library.sparse.derivatives import jacobian as jacobian
from olympus_core.library.sparse.derivatives import jacrev as jacrev
from olympus_core.library.sparse.derivatives import value_and_grad as value_and_grad
