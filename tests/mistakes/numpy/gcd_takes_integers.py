import olympus.numpy as jnp

jnp.gcd(1.5, 2)
# DTypeError: gcd takes integers, and got float32[]
