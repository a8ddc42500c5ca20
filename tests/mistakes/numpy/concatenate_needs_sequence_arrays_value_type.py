import olympus.numpy as jnp

jnp.concatenate(3)
# DTypeError: concatenate needs a sequence of arrays, and got a value of type int
