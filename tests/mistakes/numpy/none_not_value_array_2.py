import olympus.numpy as jnp

jnp.float32(None)
# DTypeError: None is not a valid value for an array
