"""Functions of JAX compiled by OLYMPUS, and calls between the two; `olympus[jax]` installs JAX."""

from olympus_core.interop.jax_calls import callable as callable
from olympus_core.interop.jax_exports import export_file as export_file
from olympus_core.interop.jax_jit import jit as jit
from olympus_core.interop.jax_own_stages import clear_jax_caches as clear_jax_caches
from olympus_core.interop.jax_own_stages import expect_jax_devices as expect_jax_devices
from olympus_core.interop.jax_own_stages import own_stages as own_stages
from olympus_core.interop.jax_tracing import map_types as map_types
from olympus_core.interop.jax_tracing import named_leaves as named_leaves
from olympus_core.interop.jax_tracing import result_types as result_types
from olympus_core.interop.jax_tracing import trace as trace
