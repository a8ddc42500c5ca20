"""`olympus.scipy.stats.pareto`: the Pareto distribution."""

from olympus_core.library.scipy.stats.pareto import cdf as cdf
from olympus_core.library.scipy.stats.pareto import logcdf as logcdf
from olympus_core.library.scipy.stats.pareto import logpdf as logpdf
from olympus_core.library.scipy.stats.pareto import logsf as logsf
from olympus_core.library.scipy.stats.pareto import pdf as pdf
from olympus_core.library.scipy.stats.pareto import ppf as ppf
from olympus_core.library.scipy.stats.pareto import sf as sf
