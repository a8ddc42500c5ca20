"""Arrays of coordinates."""

from olympus_core.extension.sparse_primitives import bcoo_dot_general_p as bcoo_dot_general_p
from olympus_core.extension.sparse_primitives import (
    bcoo_dot_general_sampled_p as bcoo_dot_general_sampled_p,
)
from olympus_core.extension.sparse_primitives import bcoo_extract_p as bcoo_extract_p
from olympus_core.extension.sparse_primitives import bcoo_fromdense_p as bcoo_fromdense_p
from olympus_core.extension.sparse_primitives import bcoo_sort_indices_p as bcoo_sort_indices_p
from olympus_core.extension.sparse_primitives import bcoo_spdot_general_p as bcoo_spdot_general_p
from olympus_core.extension.sparse_primitives import bcoo_sum_duplicates_p as bcoo_sum_duplicates_p
from olympus_core.extension.sparse_primitives import bcoo_todense_p as bcoo_todense_p
from olympus_core.extension.sparse_primitives import bcoo_transpose_p as bcoo_transpose_p
from olympus_core.library.sparse.coordinates import BCOO as BCOO
from olympus_core.library.sparse.coordinates import bcoo_eliminate_zeros as bcoo_eliminate_zeros
from olympus_core.library.sparse.coordinates import bcoo_extract as bcoo_extract
from olympus_core.library.sparse.coordinates import bcoo_fromdense as bcoo_fromdense
from olympus_core.library.sparse.coordinates import bcoo_sort_indices as bcoo_sort_indices
from olympus_core.library.sparse.coordinates import bcoo_sum_duplicates as bcoo_sum_duplicates
from olympus_core.library.sparse.coordinates import bcoo_todense as bcoo_todense
from olympus_core.library.sparse.coordinates import bcoo_transpose as bcoo_transpose
from olympus_core.library.sparse.gathering import BCOOProperties as BCOOProperties
from olympus_core.library.sparse.gathering import Buffer as Buffer
from olympus_core.library.sparse.gathering import (
    bcoo_conv_general_dilated as bcoo_conv_general_dilated,
)
from olympus_core.library.sparse.gathering import bcoo_gather as bcoo_gather
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
