import olympus.numpy as jnp

jnp.choose(jnp.array([2]), [1, 2])
# IndexingError: choose of 2 choices got a number that is not below 2
