import olympus.numpy as jnp

jnp.array(None)
# ArgumentError: None is not a valid value for jnp.array
