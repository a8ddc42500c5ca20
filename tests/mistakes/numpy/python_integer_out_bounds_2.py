import olympus.numpy as jnp

jnp.array([2**40])
# OverflowError: Python integer 1099511627776 out of bounds for int32
