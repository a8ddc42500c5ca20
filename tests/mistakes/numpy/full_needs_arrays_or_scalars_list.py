import olympus.numpy as jnp

jnp.full(3, [1, 2, 3])
# DTypeError: full requires ndarray or scalar arguments, got <class 'list'> at position 0
# hint: turn lists and tuples into arrays with olympus.numpy.array
