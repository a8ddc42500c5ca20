import numpy as np

import olympus.numpy as jnp

N = np.array([0, 2, 2, 5, 1, 2], "int32")

jnp.round(N, -1)
# DTypeError: round takes floats, or integers with decimals >= 0, and got int32[6] with decimals=-1
