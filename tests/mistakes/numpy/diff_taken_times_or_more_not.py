import numpy as np

import olympus.numpy as jnp

X = np.array([0.5, 2.0, -1.0, 3.5, 3.5, 0.0], "float32")

jnp.diff(X, -1)
# ArgumentError: diff needs n of 0 or more, and got -1
