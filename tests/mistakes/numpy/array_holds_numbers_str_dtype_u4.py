import olympus.numpy as jnp

jnp.array("text")
# DTypeError: an array holds numbers, and a str has dtype <U4: 'text'
