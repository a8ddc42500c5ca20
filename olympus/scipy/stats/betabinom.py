"""`olympus.scipy.stats.betabinom`: the beta-binomial distribution."""

from olympus_core.library.scipy.stats.betabinom import logpmf as logpmf
from olympus_core.library.scipy.stats.betabinom import pmf as pmf
