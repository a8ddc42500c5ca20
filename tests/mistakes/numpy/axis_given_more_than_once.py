import numpy as np

import olympus.numpy as jnp

X = np.ones((2, 3), np.float32)

jnp.transpose(X, (0, 0))
# ShapeError: axis is given more than once: (0, 0)
