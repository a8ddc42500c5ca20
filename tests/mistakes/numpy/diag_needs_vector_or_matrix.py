import olympus.numpy as jnp

jnp.diag(jnp.ones((2, 2, 2)))
# ShapeError: diag needs a vector or a matrix, and got float32[2,2,2]
