"""The types of values, tracers, and the parts of the IR, under JAX's names."""

import typing as _typing

from olympus_core.base.avals import ShapedArray as ShapedArray
from olympus_core.base.avals import get_aval as get_aval
from olympus_core.base.dimensions.expression import is_constant_dim as is_constant_dim
from olympus_core.base.dimensions.expression import is_symbolic_dim as is_symbolic_dim
from olympus_core.base.dimensions.expression import max_dim as max_dim
from olympus_core.base.dimensions.expression import min_dim as min_dim
from olympus_core.base.errors import (
    InconclusiveDimensionOperation as InconclusiveDimensionOperation,
)
from olympus_core.execution.eager import ensure_compile_time_eval as ensure_compile_time_eval
from olympus_core.extension.surroundings import eval_context as eval_context
from olympus_core.extension.user_primitive import UserPrimitive as _UserPrimitive
from olympus_core.ir.olympuspr import Atom as Atom
from olympus_core.ir.olympuspr import Eqn as _Eqn
from olympus_core.ir.olympuspr import Literal as Literal
from olympus_core.ir.olympuspr import Var as Var
from olympus_core.ir.trace import Trace as Trace
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
from olympus_core.library.public_array import AnyTracer as _AnyTracer

AbstractValue = ShapedArray
ParamDict = dict[str, _typing.Any]
Value = _typing.Any
JaxprEqn = _Eqn
Tracer = _AnyTracer
Primitive = _UserPrimitive
