import olympus.numpy as jnp

jnp.nonzero(3)
# ShapeError: nonzero needs an array with dimensions: use atleast_1d
