"""`olympus.scipy.optimize`: the minimum of a function."""

from olympus_core.library.scipy.optimize.minimize import OptimizeResults as OptimizeResults
from olympus_core.library.scipy.optimize.minimize import minimize as minimize
