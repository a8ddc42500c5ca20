import olympus.numpy as jnp

jnp.concatenate([1, 2])
# ShapeError: concatenate cannot join arrays without dimensions: use stack
