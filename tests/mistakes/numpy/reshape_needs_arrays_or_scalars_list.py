import olympus.numpy as jnp

jnp.reshape([1, 2], (2,))
# DTypeError: reshape needs arrays or scalars, and got list at position 0
# hint: turn lists and tuples into arrays with olympus.numpy.array
