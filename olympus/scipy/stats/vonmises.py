"""`olympus.scipy.stats.vonmises`: the von Mises distribution."""

from olympus_core.library.scipy.stats.vonmises import logpdf as logpdf
from olympus_core.library.scipy.stats.vonmises import pdf as pdf
