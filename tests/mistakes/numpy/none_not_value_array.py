import olympus.numpy as jnp

jnp.array(None)
# DTypeError: None is not the value of an array
