"""`olympus.scipy.stats.dirichlet`: the Dirichlet distribution."""

from olympus_core.library.scipy.stats.dirichlet import logpdf as logpdf
from olympus_core.library.scipy.stats.dirichlet import pdf as pdf
