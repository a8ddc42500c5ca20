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
from olympus_core.extension.programs.parts import Val as Val
from olympus_core.extension.programs.parts import abstract_eval_fun as abstract_eval_fun
from olympus_core.extension.programs.parts import dce_jaxpr_call_rule as dce_jaxpr_call_rule
from olympus_core.extension.programs.parts import (
    dce_jaxpr_closed_call_rule as dce_jaxpr_closed_call_rule,
)
from olympus_core.extension.programs.parts import dce_jaxpr_consts as dce_jaxpr_consts
from olympus_core.extension.programs.parts import dce_rules as dce_rules
from olympus_core.extension.programs.parts import move_binders_to_back as move_binders_to_back
from olympus_core.extension.programs.parts import (
    partial_eval_jaxpr_nounits as partial_eval_jaxpr_nounits,
)
from olympus_core.extension.programs.parts import (
    prune_closed_jaxpr_outputs as prune_closed_jaxpr_outputs,
)
from olympus_core.transforms.staging import StagedTracer as _StagedTracer

DynamicJaxprTracer = _StagedTracer
JaxprTracer = _StagedTracer
