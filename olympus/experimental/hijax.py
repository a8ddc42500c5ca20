"""`olympus.experimental.hijax`: operations of users as classes."""

from olympus.core import AbstractValue as _AbstractValue
from olympus_core.base.avals import ShapedArray as ShapedArray
from olympus_core.extension.derivative_rules import instantiate_zeros as instantiate_zeros
from olympus_core.extension.hijax import GradAccum as GradAccum
from olympus_core.extension.hijax import HiPrim as HiPrim
from olympus_core.extension.hijax import HiPrimitive as HiPrimitive
from olympus_core.extension.hijax import NullAccum as NullAccum
from olympus_core.extension.hijax import RefAccum as RefAccum
from olympus_core.extension.hijax import ValAccum as ValAccum
from olympus_core.extension.hijax import VJPHiPrimitive as VJPHiPrimitive
from olympus_core.extension.hijax import bdims_at_front as bdims_at_front
from olympus_core.extension.hijax import jvp_from_lin as jvp_from_lin
from olympus_core.extension.hijax import linearize_from_jvp as linearize_from_jvp
from olympus_core.extension.hijax import unmap_avals as unmap_avals
from olympus_core.extension.hijax import vjp_from_jvp as vjp_from_jvp
from olympus_core.extension.hijax import vjp_from_lin as vjp_from_lin
from olympus_core.extension.hijax import vmap_rule as vmap_rule
from olympus_core.extension.rules import Zero as Zero
from olympus_core.extension.rules import is_undefined_primal as is_undefined_primal

AbstractValue = _AbstractValue
