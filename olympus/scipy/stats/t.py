"""`olympus.scipy.stats.t`: Student's t distribution."""

from olympus_core.library.scipy.stats.t import logpdf as logpdf
from olympus_core.library.scipy.stats.t import pdf as pdf
