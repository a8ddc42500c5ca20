import numpy as np

import olympus.numpy as jnp

X = np.array([0.5, 2.0, -1.0, 3.5, 3.5, 0.0], "float32")

jnp.interp(X, X, X[:2])
# ShapeError: interp needs points in two vectors, and got shapes (6,) and (2,)
