import numpy as np

import olympus.numpy as jnp

X = np.ones((2, 3), np.float32)

jnp.split(X, 2, axis=1)
# ShapeError: split cannot make 2 parts of length 3
