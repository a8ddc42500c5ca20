import numpy as np

import olympus.numpy as jnp

X = np.ones((2, 3), np.float32)

jnp.moveaxis(X, 0, (0, 1))
# ShapeError: moveaxis from (0,) to (0, 1): both must have the same number of axes
