import olympus.numpy as jnp

jnp.array([1, None])
# DTypeError: None is not a valid value for an array, and the sequence contains it
