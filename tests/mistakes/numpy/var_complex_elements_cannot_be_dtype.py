import olympus.numpy as jnp

jnp.var(jnp.ones(2) * 1j, dtype="float32")
# DTypeError: var of complex elements cannot have dtype float32
