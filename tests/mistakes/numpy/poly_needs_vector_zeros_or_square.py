import numpy as np

import olympus.numpy as jnp

Y = np.array([[1.0, 2.0, 4.0], [0.0, -3.0, 9.0]], "float32")

jnp.poly(Y)
# ShapeError: poly needs a vector of zeros or a square matrix that is not empty, and got float32[2,3]
