"""`olympus.experimental.sparse`: sparse arrays, of coordinates or of compressed rows."""

import typing as _typing

from olympus_core.base.lazy_modules import on_demand as _on_demand
from olympus_core.library.sparse.base import CuSparseEfficiencyWarning as CuSparseEfficiencyWarning
from olympus_core.library.sparse.base import JAXSparse as JAXSparse
from olympus_core.library.sparse.base import SparseEfficiencyError as SparseEfficiencyError
from olympus_core.library.sparse.base import SparseEfficiencyWarning as SparseEfficiencyWarning
from olympus_core.library.sparse.compressed import BCSR as BCSR
from olympus_core.library.sparse.compressed import bcsr_broadcast_in_dim as bcsr_broadcast_in_dim
from olympus_core.library.sparse.compressed import bcsr_concatenate as bcsr_concatenate
from olympus_core.library.sparse.compressed import bcsr_dot_general as bcsr_dot_general
from olympus_core.library.sparse.compressed import bcsr_extract as bcsr_extract
from olympus_core.library.sparse.compressed import bcsr_fromdense as bcsr_fromdense
from olympus_core.library.sparse.compressed import bcsr_sum_duplicates as bcsr_sum_duplicates
from olympus_core.library.sparse.compressed import bcsr_todense as bcsr_todense
from olympus_core.library.sparse.coordinates import BCOO as BCOO
from olympus_core.library.sparse.coordinates import bcoo_extract as bcoo_extract
from olympus_core.library.sparse.coordinates import bcoo_fromdense as bcoo_fromdense
from olympus_core.library.sparse.coordinates import bcoo_sort_indices as bcoo_sort_indices
from olympus_core.library.sparse.coordinates import bcoo_sum_duplicates as bcoo_sum_duplicates
from olympus_core.library.sparse.coordinates import bcoo_todense as bcoo_todense
from olympus_core.library.sparse.coordinates import bcoo_transpose as bcoo_transpose
from olympus_core.library.sparse.creation import empty as empty
from olympus_core.library.sparse.creation import eye as eye
from olympus_core.library.sparse.creation import random_bcoo as random_bcoo
from olympus_core.library.sparse.creation import todense as todense
from olympus_core.library.sparse.derivatives import grad as grad
from olympus_core.library.sparse.derivatives import jacfwd as jacfwd
from olympus_core.library.sparse.derivatives import jacobian as jacobian
from olympus_core.library.sparse.derivatives import jacrev as jacrev
from olympus_core.library.sparse.derivatives import value_and_grad as value_and_grad
from olympus_core.library.sparse.gathering import (
    bcoo_conv_general_dilated as bcoo_conv_general_dilated,
)
from olympus_core.library.sparse.gathering import bcoo_gather as bcoo_gather
from olympus_core.library.sparse.matrices import COO as COO
from olympus_core.library.sparse.matrices import CSC as CSC
from olympus_core.library.sparse.matrices import CSR as CSR
from olympus_core.library.sparse.matrices import coo_fromdense as coo_fromdense
from olympus_core.library.sparse.matrices import coo_matmat as coo_matmat
from olympus_core.library.sparse.matrices import coo_matvec as coo_matvec
from olympus_core.library.sparse.matrices import coo_todense as coo_todense
from olympus_core.library.sparse.matrices import csr_fromdense as csr_fromdense
from olympus_core.library.sparse.matrices import csr_matmat as csr_matmat
from olympus_core.library.sparse.matrices import csr_matvec as csr_matvec
from olympus_core.library.sparse.matrices import csr_todense as csr_todense
from olympus_core.library.sparse.operators import install as _install
from olympus_core.library.sparse.products import bcoo_dot_general as bcoo_dot_general
from olympus_core.library.sparse.products import (
    bcoo_dot_general_sampled as bcoo_dot_general_sampled,
)
from olympus_core.library.sparse.products import bcoo_multiply_dense as bcoo_multiply_dense
from olympus_core.library.sparse.products import bcoo_multiply_sparse as bcoo_multiply_sparse
from olympus_core.library.sparse.shapes import bcoo_broadcast_in_dim as bcoo_broadcast_in_dim
from olympus_core.library.sparse.shapes import bcoo_concatenate as bcoo_concatenate
from olympus_core.library.sparse.shapes import bcoo_dynamic_slice as bcoo_dynamic_slice
from olympus_core.library.sparse.shapes import bcoo_reduce_sum as bcoo_reduce_sum
from olympus_core.library.sparse.shapes import bcoo_reshape as bcoo_reshape
from olympus_core.library.sparse.shapes import bcoo_rev as bcoo_rev
from olympus_core.library.sparse.shapes import bcoo_slice as bcoo_slice
from olympus_core.library.sparse.shapes import bcoo_squeeze as bcoo_squeeze
from olympus_core.library.sparse.shapes import bcoo_update_layout as bcoo_update_layout
from olympus_core.library.sparse.sparsify import SparseTracer as SparseTracer
from olympus_core.library.sparse.sparsify import sparsify as sparsify

if _typing.TYPE_CHECKING:
    from olympus.experimental.sparse import ad as ad
    from olympus.experimental.sparse import api as api
    from olympus.experimental.sparse import bcoo as bcoo
    from olympus.experimental.sparse import bcsr as bcsr
    from olympus.experimental.sparse import coo as coo
    from olympus.experimental.sparse import csr as csr
    from olympus.experimental.sparse import linalg as linalg
    from olympus.experimental.sparse import random as random
    from olympus.experimental.sparse import transform as transform
    from olympus.experimental.sparse import util as util
    from olympus_core.extension.sparse_primitives import bcoo_dot_general_p as bcoo_dot_general_p
    from olympus_core.extension.sparse_primitives import (
        bcoo_dot_general_sampled_p as bcoo_dot_general_sampled_p,
    )
    from olympus_core.extension.sparse_primitives import bcoo_extract_p as bcoo_extract_p
    from olympus_core.extension.sparse_primitives import bcoo_fromdense_p as bcoo_fromdense_p
    from olympus_core.extension.sparse_primitives import bcoo_sort_indices_p as bcoo_sort_indices_p
    from olympus_core.extension.sparse_primitives import (
        bcoo_spdot_general_p as bcoo_spdot_general_p,
    )
    from olympus_core.extension.sparse_primitives import (
        bcoo_sum_duplicates_p as bcoo_sum_duplicates_p,
    )
    from olympus_core.extension.sparse_primitives import bcoo_todense_p as bcoo_todense_p
    from olympus_core.extension.sparse_primitives import bcoo_transpose_p as bcoo_transpose_p
    from olympus_core.extension.sparse_primitives import bcsr_dot_general_p as bcsr_dot_general_p
    from olympus_core.extension.sparse_primitives import bcsr_extract_p as bcsr_extract_p
    from olympus_core.extension.sparse_primitives import bcsr_fromdense_p as bcsr_fromdense_p
    from olympus_core.extension.sparse_primitives import bcsr_todense_p as bcsr_todense_p
    from olympus_core.extension.sparse_primitives import coo_fromdense_p as coo_fromdense_p
    from olympus_core.extension.sparse_primitives import coo_matmat_p as coo_matmat_p
    from olympus_core.extension.sparse_primitives import coo_matvec_p as coo_matvec_p
    from olympus_core.extension.sparse_primitives import coo_todense_p as coo_todense_p
    from olympus_core.extension.sparse_primitives import csr_fromdense_p as csr_fromdense_p
    from olympus_core.extension.sparse_primitives import csr_matmat_p as csr_matmat_p
    from olympus_core.extension.sparse_primitives import csr_matvec_p as csr_matvec_p
    from olympus_core.extension.sparse_primitives import csr_todense_p as csr_todense_p
    from olympus_core.extension.sparse_primitives import todense_p as todense_p
else:
    __getattr__, __dir__ = _on_demand(
        __name__,
        "ad",
        "api",
        "bcoo",
        "bcsr",
        "coo",
        "csr",
        "linalg",
        "random",
        "transform",
        "util",
        elsewhere={
            "olympus_core.extension.sparse_primitives": (
                *("bcoo_dot_general_p", "bcoo_dot_general_sampled_p", "bcoo_extract_p"),
                *("bcoo_fromdense_p", "bcoo_sort_indices_p", "bcoo_spdot_general_p"),
                *("bcoo_sum_duplicates_p", "bcoo_todense_p", "bcoo_transpose_p"),
                *("bcsr_dot_general_p", "bcsr_extract_p", "bcsr_fromdense_p"),
                *("bcsr_todense_p", "coo_fromdense_p", "coo_matmat_p"),
                *("coo_matvec_p", "coo_todense_p", "csr_fromdense_p"),
                *("csr_matmat_p", "csr_matvec_p", "csr_todense_p"),
                "todense_p",
            ),
        },
    )
