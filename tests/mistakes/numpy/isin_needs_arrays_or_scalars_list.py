import numpy as np

import olympus.numpy as jnp

A, B = np.array([5, 3, 3, 9]), np.array([3, 7, 9, 9])

jnp.isin([1], B)
# DTypeError: isin requires ndarray or scalar arguments, got <class 'list'> at position 0
# hint: turn lists and tuples into arrays with olympus.numpy.array
