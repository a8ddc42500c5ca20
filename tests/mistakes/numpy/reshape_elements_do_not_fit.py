import numpy as np

import olympus.numpy as jnp

X = np.ones((2, 3), np.float32)

jnp.reshape(X, (4, -1))
# ShapeError: reshape of (2, 3) to (4, -1): 6 elements do not fit
