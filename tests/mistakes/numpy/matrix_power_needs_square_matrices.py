import numpy as np

import olympus.numpy as jnp

Y = np.array([[1.0, 2.0, 4.0], [0.0, -3.0, 9.0]], "float32")

jnp.linalg.matrix_power(Y, 2)
# ShapeError: matrix_power needs square matrices, and got float32[2,3]
