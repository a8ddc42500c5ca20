"""`olympus.scipy.stats.beta`: the beta distribution."""

from olympus_core.library.scipy.stats.beta import cdf as cdf
from olympus_core.library.scipy.stats.beta import logcdf as logcdf
from olympus_core.library.scipy.stats.beta import logpdf as logpdf
from olympus_core.library.scipy.stats.beta import logsf as logsf
from olympus_core.library.scipy.stats.beta import pdf as pdf
from olympus_core.library.scipy.stats.beta import sf as sf
