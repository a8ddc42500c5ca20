import olympus.numpy as jnp

jnp.fft.fft([1.0, 2.0])
# DTypeError: fft needs arrays or scalars, and got list at position 0
# hint: turn lists and tuples into arrays with olympus.numpy.array
