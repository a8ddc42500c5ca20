import olympus.numpy as jnp

jnp.fill_diagonal(jnp.ones((2, 2)), 0)
# ArgumentError: arrays cannot be written to: pass inplace=False, and use the result
