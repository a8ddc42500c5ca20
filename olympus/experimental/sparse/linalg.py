"""Solutions of sparse systems."""

from olympus_core.extension.sparse_primitives import spsolve as spsolve
from olympus_core.extension.sparse_primitives import spsolve_p as spsolve_p
from olympus_core.library.sparse.eigenvectors import lobpcg_standard as lobpcg_standard
