import olympus.numpy as jnp

jnp.concatenate([])
# ShapeError: concatenate needs at least one array, and got none
