import olympus.numpy as jnp

jnp.max(jnp.ones((2, 2)), axis=(0, -2))
# ShapeError: duplicate value in 'axis': (0, -2), in an axis of max
