import olympus.numpy as jnp

jnp.var(jnp.ones(2) * 1j, dtype="float32")
# DTypeError: var of complex elements cannot be of dtype float32
