import olympus.numpy as jnp

jnp.max(jnp.zeros((0, 2)), axis=0)
# ShapeError: zero-size array to reduction operation max which has no identity: the shape is (0, 2)
