import olympus.numpy as jnp

jnp.full((2,), jnp.arange(3))
# ShapeError: Incompatible types for broadcasting: input type=int32[3] and requested type=int32[2]
