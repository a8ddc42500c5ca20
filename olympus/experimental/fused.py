"""`olympus.experimental.fused`: functions that XLA compiles as one fusion of a GPU."""

from olympus_core.control.annotated_call import fused_p as fused_p
from olympus_core.library.experimental.places import fused as fused
