import olympus.numpy as jnp

jnp.fromfunction(jnp.add, (2, -1))
# ShapeError: shape must have no negative dimension, and is (2, -1)
