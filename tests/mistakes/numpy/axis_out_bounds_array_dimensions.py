import numpy as np

import olympus.numpy as jnp

X = np.ones((2, 3), np.float32)

jnp.swapaxes(X, 0, 2)
# ShapeError: axis 2 is out of bounds for array of dimension 2
