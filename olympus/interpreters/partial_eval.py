"""Programs of functions, and programs without what is not used."""

from olympus_core.extension.partial_programs import PartialVal as PartialVal
from olympus_core.extension.partial_programs import close_jaxpr as close_jaxpr
from olympus_core.extension.partial_programs import (
    convert_constvars_jaxpr as convert_constvars_jaxpr,
)
from olympus_core.extension.partial_programs import dce_jaxpr as dce_jaxpr
from olympus_core.extension.partial_programs import (
    trace_to_jaxpr_dynamic as trace_to_jaxpr_dynamic,
)
from olympus_core.extension.partial_programs import (
    trace_to_jaxpr_nounits as trace_to_jaxpr_nounits,
)
from olympus_core.transforms.staging import StagedTracer as _StagedTracer

DynamicJaxprTracer = _StagedTracer
JaxprTracer = _StagedTracer
