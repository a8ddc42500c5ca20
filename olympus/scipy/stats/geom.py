"""`olympus.scipy.stats.geom`: the geometric distribution."""

from olympus_core.library.scipy.stats.geom import logpmf as logpmf
from olympus_core.library.scipy.stats.geom import pmf as pmf
