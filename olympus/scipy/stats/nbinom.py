"""`olympus.scipy.stats.nbinom`: the negative binomial distribution."""

from olympus_core.library.scipy.stats.nbinom import logpmf as logpmf
from olympus_core.library.scipy.stats.nbinom import pmf as pmf
