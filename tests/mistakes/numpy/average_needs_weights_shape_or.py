import olympus.numpy as jnp

jnp.average(jnp.ones((2, 3)), weights=jnp.ones(3))
# ShapeError: average needs weights of shape (2, 3) or (2, 3), and got (3,)
