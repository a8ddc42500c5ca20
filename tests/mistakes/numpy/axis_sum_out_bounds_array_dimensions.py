import olympus.numpy as jnp

jnp.sum(jnp.ones(3), axis=1)
# ShapeError: axis 1 is out of bounds for array of dimension 1, in the axis of sum
