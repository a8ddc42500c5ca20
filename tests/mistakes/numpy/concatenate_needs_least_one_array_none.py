import olympus.numpy as jnp

jnp.concatenate([])
# ShapeError: Need at least one array to concatenate, and got none
