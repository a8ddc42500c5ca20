import olympus.numpy as jnp

jnp.array([1, None])
# DTypeError: None is not the value of an array, and is in the sequence given
