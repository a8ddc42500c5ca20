"""`olympus.scipy.stats.truncnorm`: the normal distribution between two limits."""

from olympus_core.library.scipy.stats.truncnorm import cdf as cdf
from olympus_core.library.scipy.stats.truncnorm import logcdf as logcdf
from olympus_core.library.scipy.stats.truncnorm import logpdf as logpdf
from olympus_core.library.scipy.stats.truncnorm import logsf as logsf
from olympus_core.library.scipy.stats.truncnorm import pdf as pdf
from olympus_core.library.scipy.stats.truncnorm import sf as sf
