import numpy as np

import olympus.numpy as jnp

X = np.ones((2, 3), np.float32)

jnp.transpose(X, (0, 0))
# ShapeError: duplicate value in 'axis': (0, 0)
