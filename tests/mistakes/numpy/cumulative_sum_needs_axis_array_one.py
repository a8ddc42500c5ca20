import olympus.numpy as jnp

jnp.cumulative_sum(jnp.ones((2, 2)))
# ShapeError: cumulative_sum needs an axis, and an array that has one, and got float32[2,2]
