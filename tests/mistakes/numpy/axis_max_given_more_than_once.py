import olympus.numpy as jnp

jnp.max(jnp.ones((2, 2)), axis=(0, -2))
# ShapeError: an axis of max is given more than once: (0, -2)
