"""Functions of JAX compiled by OLYMPUS; it needs JAX, from `pip install 'olympus[jax]'`."""

from olympus_core.interop.jax_jit import jit as jit
