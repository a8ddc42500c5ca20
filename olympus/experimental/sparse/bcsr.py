"""Arrays of compressed rows."""

from olympus_core.extension.sparse_primitives import bcsr_dot_general_p as bcsr_dot_general_p
from olympus_core.extension.sparse_primitives import bcsr_extract_p as bcsr_extract_p
from olympus_core.extension.sparse_primitives import bcsr_fromdense_p as bcsr_fromdense_p
from olympus_core.extension.sparse_primitives import bcsr_todense_p as bcsr_todense_p
from olympus_core.library.sparse.compressed import BCSR as BCSR
from olympus_core.library.sparse.compressed import bcsr_broadcast_in_dim as bcsr_broadcast_in_dim
from olympus_core.library.sparse.compressed import bcsr_concatenate as bcsr_concatenate
from olympus_core.library.sparse.compressed import bcsr_dot_general as bcsr_dot_general
from olympus_core.library.sparse.compressed import bcsr_eliminate_zeros as bcsr_eliminate_zeros
from olympus_core.library.sparse.compressed import bcsr_extract as bcsr_extract
from olympus_core.library.sparse.compressed import bcsr_fromdense as bcsr_fromdense
from olympus_core.library.sparse.compressed import bcsr_sum_duplicates as bcsr_sum_duplicates
from olympus_core.library.sparse.compressed import bcsr_todense as bcsr_todense
from olympus_core.library.sparse.gathering import BCSRProperties as BCSRProperties
