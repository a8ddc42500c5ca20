import olympus.numpy as jnp

jnp.clip(1j, 0, 1)
# DTypeError: clip needs ordered values, and got complex ones: clip .real and .imag
