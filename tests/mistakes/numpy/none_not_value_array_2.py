import olympus.numpy as jnp

jnp.float32(None)
# ArgumentError: None is not a valid value for jnp.array
