import olympus.numpy as jnp

jnp.select([], [])
# ArgumentError: select needs as many choices as conditions, at least one: it got 0 conditions and 0 choices
