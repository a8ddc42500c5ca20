"""The operations that an Olympuspr may hold, by name."""

from olympus.lax._primitives import *  # noqa: F403
from olympus_core.control.call import jit_p as jit_p
from olympus_core.control.checkpoint import checkpoint_p as remat_p
from olympus_core.control.custom_jvp import custom_jvp_call_p as custom_jvp_call_p
from olympus_core.control.custom_vjp import custom_vjp_call_p as custom_vjp_call_p
