import olympus.numpy as jnp

jnp.choose(jnp.array([2]), [1, 2])
# ArgumentError: invalid entry in choice array: choose of 2 choices got a number that is not below 2
