import olympus.numpy as jnp

jnp.hanning(-1)
# ArgumentError: hanning needs a length >= 0, and got -1
