"""Warnings, and maps over axes that broadcast."""

from olympus_core.extension.sparse_primitives import SparseInfo as SparseInfo
from olympus_core.library.sparse.base import CuSparseEfficiencyWarning as CuSparseEfficiencyWarning
from olympus_core.library.sparse.base import SparseEfficiencyError as SparseEfficiencyError
from olympus_core.library.sparse.base import SparseEfficiencyWarning as SparseEfficiencyWarning
from olympus_core.library.sparse.base import broadcasting_vmap as broadcasting_vmap
from olympus_core.library.sparse.base import nfold_vmap as nfold_vmap
