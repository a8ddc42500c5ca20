"""Derivative rules of primitives."""

from olympus_core.extension.derivative_rules import add_jaxvals as add_jaxvals
from olympus_core.extension.derivative_rules import add_tangents as add_tangents
from olympus_core.extension.derivative_rules import defbilinear as defbilinear
from olympus_core.extension.derivative_rules import defjvp as defjvp
from olympus_core.extension.derivative_rules import defjvp2 as defjvp2
from olympus_core.extension.derivative_rules import deflinear as deflinear
from olympus_core.extension.derivative_rules import deflinear2 as deflinear2
from olympus_core.extension.derivative_rules import (
    get_primitive_transpose as get_primitive_transpose,
)
from olympus_core.extension.derivative_rules import instantiate_zeros as instantiate_zeros
from olympus_core.extension.programs.derivatives import backward_pass as backward_pass
from olympus_core.extension.programs.derivatives import jvp as jvp
from olympus_core.extension.programs.derivatives import jvp_jaxpr as jvp_jaxpr
from olympus_core.extension.programs.derivatives import linearize as linearize
from olympus_core.extension.rules import UndefinedPrimal as UndefinedPrimal
from olympus_core.extension.rules import Zero as Zero
from olympus_core.extension.rules import is_undefined_primal as is_undefined_primal
from olympus_core.extension.rules import primitive_jvps as primitive_jvps
from olympus_core.extension.rules import primitive_transposes as primitive_transposes
from olympus_core.extension.rules import zeros_like_aval as zeros_like_aval
from olympus_core.primitives.elementwise.arithmetic import add_any_p as _add_any_p
from olympus_core.transforms.jvp import JVPTrace as JVPTrace
from olympus_core.transforms.jvp import JVPTracer as JVPTracer

add_jaxvals_p = _add_any_p
