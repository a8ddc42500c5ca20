"""Functions of dense arrays on sparse ones."""

from olympus_core.extension.transformations import sparsify_fun as sparsify_fun
from olympus_core.extension.transformations import sparsify_subtrace as sparsify_subtrace
from olympus_core.library.sparse.sparsify import SparseTrace as SparseTrace
from olympus_core.library.sparse.sparsify import SparseTracer as SparseTracer
from olympus_core.library.sparse.sparsify import eval_sparse as eval_sparse
from olympus_core.library.sparse.sparsify import sparse_rules_bcoo as sparse_rules_bcoo
from olympus_core.library.sparse.sparsify import sparse_rules_bcsr as sparse_rules_bcsr
from olympus_core.library.sparse.sparsify import sparsify as sparsify
from olympus_core.library.sparse.sparsify import sparsify_raw as sparsify_raw
from olympus_core.library.sparse.sparsify_values import SparsifyEnv as SparsifyEnv
from olympus_core.library.sparse.sparsify_values import SparsifyValue as SparsifyValue
from olympus_core.library.sparse.sparsify_values import arrays_to_spvalues as arrays_to_spvalues
from olympus_core.library.sparse.sparsify_values import spvalues_to_arrays as spvalues_to_arrays
from olympus_core.library.sparse.sparsify_values import spvalues_to_avals as spvalues_to_avals
