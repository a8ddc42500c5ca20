import olympus.numpy as jnp

jnp.full((2,), jnp.arange(3))
# ShapeError: the shapes (3,), (2,) do not broadcast to one shape
