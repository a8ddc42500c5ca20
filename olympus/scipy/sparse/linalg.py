"""`olympus.scipy.sparse.linalg`: linear equations by Krylov methods."""

from olympus_core.library.scipy.sparse.gradients import bicgstab as bicgstab
from olympus_core.library.scipy.sparse.gradients import cg as cg
from olympus_core.library.scipy.sparse.residuals import gmres as gmres
