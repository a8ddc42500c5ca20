import olympus.numpy as jnp

jnp.argmax(jnp.zeros(0))
# ShapeError: argmax of no elements has no value: the shape is (0,)
