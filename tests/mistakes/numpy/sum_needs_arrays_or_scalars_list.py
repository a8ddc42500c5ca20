import olympus.numpy as jnp

jnp.sum([1, 2])
# DTypeError: sum needs arrays or scalars, and got list at position 0
# hint: turn lists and tuples into arrays with olympus.numpy.array
