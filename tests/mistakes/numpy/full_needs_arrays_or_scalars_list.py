import olympus.numpy as jnp

jnp.full(3, [1, 2, 3])
# DTypeError: full needs arrays or scalars, and got list at position 0
# hint: turn lists and tuples into arrays with olympus.numpy.array
