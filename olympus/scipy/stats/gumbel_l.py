"""`olympus.scipy.stats.gumbel_l`: the Gumbel distribution of the least value."""

from olympus_core.library.scipy.stats.gumbel_l import cdf as cdf
from olympus_core.library.scipy.stats.gumbel_l import logcdf as logcdf
from olympus_core.library.scipy.stats.gumbel_l import logpdf as logpdf
from olympus_core.library.scipy.stats.gumbel_l import logsf as logsf
from olympus_core.library.scipy.stats.gumbel_l import pdf as pdf
from olympus_core.library.scipy.stats.gumbel_l import ppf as ppf
from olympus_core.library.scipy.stats.gumbel_l import sf as sf
