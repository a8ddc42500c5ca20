import numpy as np

import olympus.numpy as jnp

X = np.ones((2, 3), np.float32)

jnp.reshape(X, (4, 2))
# ShapeError: cannot reshape array of shape (2, 3) (size 6) into shape (4, 2) (size 8)
