import olympus.numpy as jnp

jnp.mean(jnp.ones(3), axis="x")
# ShapeError: the axis of mean must be an int, and is 'x'
