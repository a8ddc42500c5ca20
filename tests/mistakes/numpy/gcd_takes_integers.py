import olympus.numpy as jnp

jnp.gcd(1.5, 2)
# ArgumentError: Arguments to jax.numpy.gcd must be integers, and one is float32[]
