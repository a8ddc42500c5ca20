import olympus.numpy as jnp

jnp.asarray(2**40)
# RangeError: Python integer 1099511627776 is out of bounds for int32
