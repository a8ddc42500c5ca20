import olympus.numpy as jnp

jnp.array(None)
# DTypeError: None is not a valid value for an array
