import olympus.numpy as jnp

jnp.array("text")
# DTypeError: Value 'text' with dtype <U4 is not a valid JAX array type. Only arrays of numeric types are supported
