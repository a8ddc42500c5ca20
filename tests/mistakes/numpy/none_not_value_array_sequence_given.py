import olympus.numpy as jnp

jnp.array([1, None])
# ArgumentError: None is not a valid value for jnp.array, and the sequence contains it
