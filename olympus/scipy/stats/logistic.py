"""`olympus.scipy.stats.logistic`: the logistic distribution."""

from olympus_core.library.scipy.stats.logistic import cdf as cdf
from olympus_core.library.scipy.stats.logistic import isf as isf
from olympus_core.library.scipy.stats.logistic import logpdf as logpdf
from olympus_core.library.scipy.stats.logistic import pdf as pdf
from olympus_core.library.scipy.stats.logistic import ppf as ppf
from olympus_core.library.scipy.stats.logistic import sf as sf
