import numpy as np

import olympus.numpy as jnp

X = np.ones((2, 3), np.float32)

jnp.reshape(X, (-1, -1))
# ShapeError: reshape can only specify one unknown axis size with a `-1` value, got (-1, -1)
