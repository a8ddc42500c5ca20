import olympus.numpy as jnp

jnp.array(1, order="F")
# ArgumentError: arrays have no memory order here: order must be 'K', and is 'F'
