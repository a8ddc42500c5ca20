"""Solutions of sparse systems."""

from olympus_core.extension.sparse_primitives import spsolve as spsolve
from olympus_core.extension.sparse_primitives import spsolve_p as spsolve_p
