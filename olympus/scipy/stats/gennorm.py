"""`olympus.scipy.stats.gennorm`: the generalized normal distribution."""

from olympus_core.library.scipy.stats.gennorm import cdf as cdf
from olympus_core.library.scipy.stats.gennorm import logpdf as logpdf
from olympus_core.library.scipy.stats.gennorm import pdf as pdf
