"""`olympus.scipy.stats.gamma`: the gamma distribution."""

from olympus_core.library.scipy.stats.gamma import cdf as cdf
from olympus_core.library.scipy.stats.gamma import logcdf as logcdf
from olympus_core.library.scipy.stats.gamma import logpdf as logpdf
from olympus_core.library.scipy.stats.gamma import logsf as logsf
from olympus_core.library.scipy.stats.gamma import pdf as pdf
from olympus_core.library.scipy.stats.gamma import sf as sf
