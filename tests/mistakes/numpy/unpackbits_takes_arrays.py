import numpy as np

import olympus.numpy as jnp

N = np.array([0, 2, 2, 5, 1, 2], "int32")

jnp.unpackbits(N)
# DTypeError: unpackbits takes uint8 arrays, and got int32[6]
