import olympus.numpy as jnp

jnp.full((2,), jnp.arange(3))
# ShapeError: Incompatible shapes for broadcasting: shapes=[(3,), (2,)]
