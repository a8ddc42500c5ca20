import olympus.numpy as jnp

jnp.sum(jnp.ones(3), axis=1)
# ShapeError: the axis of sum 1 is out of bounds for an array of 1 dimensions
