"""`olympus.scipy.stats.laplace`: the Laplace distribution."""

from olympus_core.library.scipy.stats.laplace import cdf as cdf
from olympus_core.library.scipy.stats.laplace import logpdf as logpdf
from olympus_core.library.scipy.stats.laplace import pdf as pdf
