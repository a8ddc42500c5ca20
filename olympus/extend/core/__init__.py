"""The parts of the IR under JAX's names, for programs that read or rewrite it."""

from olympus.extend.core import primitives as primitives
from olympus_core.base.avals import ShapedArray as ShapedArray
from olympus_core.base.avals import get_aval as get_aval
from olympus_core.base.errors import (
    InconclusiveDimensionOperation as InconclusiveDimensionOperation,
)
from olympus_core.base.errors import InternalError as _InternalError
from olympus_core.extension.api_util import DebugInfo as DebugInfo
from olympus_core.extension.effects import Effect as Effect
from olympus_core.extension.effects import Effects as Effects
from olympus_core.extension.programs.calls import CallPrimitive as CallPrimitive
from olympus_core.extension.programs.calls import create_call_primitive as create_call_primitive
from olympus_core.extension.programs.calls import eval_jaxpr_transpose as eval_jaxpr_transpose
from olympus_core.extension.programs.calls import (
    register_call_primitive_rules as register_call_primitive_rules,
)
from olympus_core.extension.surroundings import TraceTag as TraceTag
from olympus_core.extension.surroundings import array_types as array_types
from olympus_core.extension.surroundings import call_impl as call_impl
from olympus_core.extension.surroundings import find_top_trace as find_top_trace
from olympus_core.extension.surroundings import gensym as gensym
from olympus_core.extension.surroundings import get_opaque_trace_state as get_opaque_trace_state
from olympus_core.extension.surroundings import mapped_aval as mapped_aval
from olympus_core.extension.surroundings import no_effects as no_effects
from olympus_core.extension.surroundings import (
    nonempty_axis_env_DO_NOT_USE as nonempty_axis_env_DO_NOT_USE,
)
from olympus_core.extension.surroundings import (
    primal_dtype_to_tangent_dtype as primal_dtype_to_tangent_dtype,
)
from olympus_core.extension.surroundings import set_current_trace as set_current_trace
from olympus_core.extension.surroundings import take_current_trace as take_current_trace
from olympus_core.extension.surroundings import unmapped_aval as unmapped_aval
from olympus_core.extension.surroundings import (
    unsafe_am_i_under_a_jit_DO_NOT_USE as unsafe_am_i_under_a_jit_DO_NOT_USE,
)
from olympus_core.extension.surroundings import (
    unsafe_am_i_under_a_vmap_DO_NOT_USE as unsafe_am_i_under_a_vmap_DO_NOT_USE,
)
from olympus_core.extension.surroundings import (
    unsafe_get_axis_names_DO_NOT_USE as unsafe_get_axis_names_DO_NOT_USE,
)
from olympus_core.extension.tokens import AbstractToken as AbstractToken
from olympus_core.extension.tokens import Token as Token
from olympus_core.extension.user_primitive import UserPrimitive as _UserPrimitive
from olympus_core.ir.olympuspr import Atom as Atom
from olympus_core.ir.olympuspr import Eqn as _Eqn
from olympus_core.ir.olympuspr import Literal as Literal
from olympus_core.ir.olympuspr import Var as Var
from olympus_core.ir.trace import Trace as Trace
from olympus_core.ir.tracer import Tracer as Tracer
from olympus_core.library.jaxprs import ClosedJaxpr as ClosedJaxpr
from olympus_core.library.jaxprs import DropVar as DropVar
from olympus_core.library.jaxprs import Jaxpr as Jaxpr
from olympus_core.library.jaxprs import check_jaxpr as check_jaxpr
from olympus_core.library.jaxprs import concrete_or_error as concrete_or_error
from olympus_core.library.jaxprs import eval_jaxpr as eval_jaxpr
from olympus_core.library.jaxprs import jaxpr_as_fun as jaxpr_as_fun
from olympus_core.library.jaxprs import jaxprs_in_params as jaxprs_in_params
from olympus_core.library.jaxprs import new_jaxpr_eqn as new_jaxpr_eqn
from olympus_core.library.jaxprs import subjaxprs as subjaxprs
from olympus_core.library.jaxprs import valid_jaxtype as valid_jaxtype

AbstractValue = ShapedArray
JaxprEqn = _Eqn
JaxprTypeError = _InternalError
Primitive = _UserPrimitive
