import olympus.numpy as jnp

jnp.reshape([1, 2], (2,))
# DTypeError: reshape requires ndarray or scalar arguments, got <class 'list'> at position 0
# hint: turn lists and tuples into arrays with olympus.numpy.array
