import olympus.numpy as jnp

jnp.tril(jnp.ones(3))
# ShapeError: tril needs two or more dimensions, and got float32[3]
