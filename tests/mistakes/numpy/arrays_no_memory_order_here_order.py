import olympus.numpy as jnp

jnp.array(1, order="F")
# UnsupportedError: Only implemented for order='K': arrays have no memory order, and order is 'F'
