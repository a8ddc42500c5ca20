import olympus.numpy as jnp

jnp.diff(3)
# ShapeError: diff needs an array with dimensions, and got a scalar
