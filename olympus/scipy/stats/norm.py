"""`olympus.scipy.stats.norm`: the normal distribution."""

from olympus_core.library.scipy.stats.normal import cdf as cdf
from olympus_core.library.scipy.stats.normal import isf as isf
from olympus_core.library.scipy.stats.normal import logcdf as logcdf
from olympus_core.library.scipy.stats.normal import logpdf as logpdf
from olympus_core.library.scipy.stats.normal import logsf as logsf
from olympus_core.library.scipy.stats.normal import pdf as pdf
from olympus_core.library.scipy.stats.normal import ppf as ppf
from olympus_core.library.scipy.stats.normal import sf as sf
