"""`olympus.scipy.stats.chi2`: the chi-squared distribution."""

from olympus_core.library.scipy.stats.chi2 import cdf as cdf
from olympus_core.library.scipy.stats.chi2 import logcdf as logcdf
from olympus_core.library.scipy.stats.chi2 import logpdf as logpdf
from olympus_core.library.scipy.stats.chi2 import logsf as logsf
from olympus_core.library.scipy.stats.chi2 import pdf as pdf
from olympus_core.library.scipy.stats.chi2 import sf as sf
