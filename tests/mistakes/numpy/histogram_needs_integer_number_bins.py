import numpy as np

import olympus.numpy as jnp

X = np.array([0.5, 2.0, -1.0, 3.5, 3.5, 0.0], "float32")

jnp.histogram(X, 1.5)
# DTypeError: histogram needs an integer number of bins, and got 1.5
