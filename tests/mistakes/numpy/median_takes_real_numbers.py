import olympus.numpy as jnp

jnp.median(jnp.ones(2) * 1j)
# DTypeError: quantile does not support complex input: median takes real numbers, and got complex64[2]
