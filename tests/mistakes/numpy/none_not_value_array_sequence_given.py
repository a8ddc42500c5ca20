import olympus.numpy as jnp

jnp.array([1, None])
# DTypeError: None is not the value of an array, and the sequence contains it
