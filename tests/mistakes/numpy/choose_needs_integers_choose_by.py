import olympus.numpy as jnp

jnp.choose(jnp.array([0.5]), [1, 2])
# DTypeError: choose needs integers as indices, and got float32[1]
