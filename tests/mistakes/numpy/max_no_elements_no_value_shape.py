import olympus.numpy as jnp

jnp.max(jnp.zeros((0, 2)), axis=0)
# ShapeError: max of no elements has no value: the shape is (0, 2)
