"""`olympus.scipy.stats.multinomial`: the multinomial distribution."""

from olympus_core.library.scipy.stats.multinomial import logpmf as logpmf
from olympus_core.library.scipy.stats.multinomial import pmf as pmf
