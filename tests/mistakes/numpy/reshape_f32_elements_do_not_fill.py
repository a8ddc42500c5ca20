import numpy as np

import olympus.numpy as jnp

X = np.ones((2, 3), np.float32)

jnp.reshape(X, (4, 2))
# ShapeError: reshape of f32[2,3] to (4, 2): 6 elements do not fill 8
