import numpy as np

import olympus.numpy as jnp

X = np.ones((2, 3), np.float32)

jnp.matrix_transpose(X[0])
# ShapeError: matrix_transpose needs two axes, and got float32[3]
