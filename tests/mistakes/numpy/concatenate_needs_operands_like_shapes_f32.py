import numpy as np

import olympus.numpy as jnp

X = np.ones((2, 3), np.float32)

jnp.concatenate([X, X[0]])
# ShapeError: Cannot concatenate arrays with different numbers of dimensions: got (2, 3), (3,)
