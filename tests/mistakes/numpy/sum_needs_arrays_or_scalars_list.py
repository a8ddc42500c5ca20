import olympus.numpy as jnp

jnp.sum([1, 2])
# DTypeError: sum requires ndarray or scalar arguments, got <class 'list'> at position 0
# hint: turn lists and tuples into arrays with olympus.numpy.array
