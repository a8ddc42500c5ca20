import olympus.numpy as jnp

jnp.fft.fft([1.0, 2.0])
# DTypeError: fft requires ndarray or scalar arguments, got <class 'list'> at position 0
# hint: turn lists and tuples into arrays with olympus.numpy.array
