import numpy as np

import olympus.numpy as jnp

A, B = np.array([5, 3, 3, 9]), np.array([3, 7, 9, 9])

jnp.isin(A, B, method="hash")
# ArgumentError: isin has the methods auto, compare_all, binary_search, sort, and got 'hash'
