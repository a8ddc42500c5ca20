"""`olympus.scipy.stats.expon`: the exponential distribution."""

from olympus_core.library.scipy.stats.expon import cdf as cdf
from olympus_core.library.scipy.stats.expon import logcdf as logcdf
from olympus_core.library.scipy.stats.expon import logpdf as logpdf
from olympus_core.library.scipy.stats.expon import logsf as logsf
from olympus_core.library.scipy.stats.expon import pdf as pdf
from olympus_core.library.scipy.stats.expon import ppf as ppf
from olympus_core.library.scipy.stats.expon import sf as sf
