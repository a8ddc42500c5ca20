"""`olympus.scipy.stats.cauchy`: the Cauchy distribution."""

from olympus_core.library.scipy.stats.cauchy import cdf as cdf
from olympus_core.library.scipy.stats.cauchy import isf as isf
from olympus_core.library.scipy.stats.cauchy import logcdf as logcdf
from olympus_core.library.scipy.stats.cauchy import logpdf as logpdf
from olympus_core.library.scipy.stats.cauchy import logsf as logsf
from olympus_core.library.scipy.stats.cauchy import pdf as pdf
from olympus_core.library.scipy.stats.cauchy import ppf as ppf
from olympus_core.library.scipy.stats.cauchy import sf as sf
