"""`olympus.scipy.stats.gumbel_r`: the Gumbel distribution of the greatest value."""

from olympus_core.library.scipy.stats.gumbel_r import cdf as cdf
from olympus_core.library.scipy.stats.gumbel_r import logcdf as logcdf
from olympus_core.library.scipy.stats.gumbel_r import logpdf as logpdf
from olympus_core.library.scipy.stats.gumbel_r import logsf as logsf
from olympus_core.library.scipy.stats.gumbel_r import pdf as pdf
from olympus_core.library.scipy.stats.gumbel_r import ppf as ppf
from olympus_core.library.scipy.stats.gumbel_r import sf as sf
