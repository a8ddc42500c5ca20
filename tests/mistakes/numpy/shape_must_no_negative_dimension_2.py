import olympus.numpy as jnp

jnp.fromfunction(jnp.add, (2, -1))
# ShapeError: shape must have every element be nonnegative, got (2, -1)
