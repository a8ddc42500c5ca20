import olympus.numpy as jnp

jnp.float32(None)
# DTypeError: None is not the value of an array
