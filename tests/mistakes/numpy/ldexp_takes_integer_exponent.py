import olympus.numpy as jnp

jnp.ldexp(1.5, 2.5)
# DTypeError: ldexp not supported for input types: it takes an integer exponent, and got float32[]
