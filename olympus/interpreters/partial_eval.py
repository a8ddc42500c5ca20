"""Programs of functions, and programs without what is not used."""

from olympus_core.library.extension.partial_programs import PartialVal as PartialVal
from olympus_core.library.extension.partial_programs import dce_jaxpr as dce_jaxpr
from olympus_core.library.extension.partial_programs import (
    trace_to_jaxpr_dynamic as trace_to_jaxpr_dynamic,
)
from olympus_core.library.extension.partial_programs import (
    trace_to_jaxpr_nounits as trace_to_jaxpr_nounits,
)
from olympus_core.transforms.staging import StagedTracer as DynamicJaxprTracer
from olympus_core.transforms.staging import StagedTracer as JaxprTracer

__all__ = [
    "DynamicJaxprTracer",
    "JaxprTracer",
    "PartialVal",
    "dce_jaxpr",
    "trace_to_jaxpr_dynamic",
    "trace_to_jaxpr_nounits",
]
