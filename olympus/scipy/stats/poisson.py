"""`olympus.scipy.stats.poisson`: the Poisson distribution."""

from olympus_core.library.scipy.stats.poisson import cdf as cdf
from olympus_core.library.scipy.stats.poisson import entropy as entropy
from olympus_core.library.scipy.stats.poisson import logpmf as logpmf
from olympus_core.library.scipy.stats.poisson import pmf as pmf
