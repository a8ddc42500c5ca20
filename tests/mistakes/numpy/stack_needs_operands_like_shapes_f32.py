import numpy as np

import olympus.numpy as jnp

X = np.ones((2, 3), np.float32)

jnp.stack([X, X[0]])
# ShapeError: All input arrays must have the same shape, and stack got (2, 3), (3,)
