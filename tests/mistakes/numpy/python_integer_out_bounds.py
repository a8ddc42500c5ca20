import olympus.numpy as jnp

jnp.asarray(2**40)
# RangeError: Python integer 1099511627776 out of bounds for int32: Python int 1099511627776 too large to convert to int32
