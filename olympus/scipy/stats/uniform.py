"""`olympus.scipy.stats.uniform`: the uniform distribution."""

from olympus_core.library.scipy.stats.uniform import cdf as cdf
from olympus_core.library.scipy.stats.uniform import logpdf as logpdf
from olympus_core.library.scipy.stats.uniform import pdf as pdf
from olympus_core.library.scipy.stats.uniform import ppf as ppf
