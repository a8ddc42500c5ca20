"""`olympus.scipy.stats.binom`: the binomial distribution."""

from olympus_core.library.scipy.stats.binom import logpmf as logpmf
from olympus_core.library.scipy.stats.binom import pmf as pmf
