import olympus.numpy as jnp

jnp.arange(0, 1, 0)
# ZeroDivisionError: division by zero
