import olympus.numpy as jnp

jnp.ldexp(1.5, 2.5)
# DTypeError: ldexp takes an integer exponent, and got float32[]
