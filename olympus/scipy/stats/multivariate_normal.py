"""`olympus.scipy.stats.multivariate_normal`: the normal distribution of vectors."""

from olympus_core.library.scipy.stats.multivariate_normal import logpdf as logpdf
from olympus_core.library.scipy.stats.multivariate_normal import pdf as pdf
