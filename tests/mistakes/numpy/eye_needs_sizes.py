import olympus.numpy as jnp

jnp.eye(-1)
# ShapeError: eye needs sizes >= 0, and got (-1, -1)
