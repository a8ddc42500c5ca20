"""`olympus.scipy.stats.bernoulli`: the Bernoulli distribution."""

from olympus_core.library.scipy.stats.bernoulli import cdf as cdf
from olympus_core.library.scipy.stats.bernoulli import logpmf as logpmf
from olympus_core.library.scipy.stats.bernoulli import pmf as pmf
from olympus_core.library.scipy.stats.bernoulli import ppf as ppf
