import numpy as np

import olympus.numpy as jnp

X = np.ones((2, 3), np.float32)

jnp.put(X, 0, 1)
# ArgumentError: put cannot write to an array: pass inplace=False, and use the result
