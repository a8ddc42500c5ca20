import numpy as np

import olympus.numpy as jnp

X = np.array([0.5, 2.0, -1.0, 3.5, 3.5, 0.0], "float32")

jnp.polyint(X, 2, k=np.ones(3))
# ShapeError: polyint of order 2 got 3 constants
