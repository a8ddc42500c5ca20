"""`olympus.scipy.stats.wrapcauchy`: the wrapped Cauchy distribution."""

from olympus_core.library.scipy.stats.wrapcauchy import logpdf as logpdf
from olympus_core.library.scipy.stats.wrapcauchy import pdf as pdf
