"""`olympus.experimental.jet`: the derivatives of all orders along a curve."""

from olympus_core.extension.transformations import jet_fun as jet_fun
from olympus_core.extension.transformations import jet_subtrace as jet_subtrace
from olympus_core.extension.transformations import traceable as traceable
from olympus_core.library.jet import JetTrace as JetTrace
from olympus_core.library.jet import JetTracer as JetTracer
from olympus_core.library.jet import ZeroSeries as ZeroSeries
from olympus_core.library.jet import ZeroTerm as ZeroTerm
from olympus_core.library.jet import call_param_updaters as call_param_updaters
from olympus_core.library.jet import def_comp as def_comp
from olympus_core.library.jet import def_deriv as def_deriv
from olympus_core.library.jet import deflinear as deflinear
from olympus_core.library.jet import defzero as defzero
from olympus_core.library.jet import deriv_prop as deriv_prop
from olympus_core.library.jet import fact as fact
from olympus_core.library.jet import jet as jet
from olympus_core.library.jet import jet2 as jet2
from olympus_core.library.jet import jet_rules as jet_rules
from olympus_core.library.jet import linear_prop as linear_prop
from olympus_core.library.jet import zero_prop as zero_prop
from olympus_core.library.jet import zero_series as zero_series
from olympus_core.library.jet import zero_term as zero_term
