import numpy as np

import olympus.numpy as jnp

X = np.ones((2, 3), np.float32)

jnp.roll(X, (1, 2, 3), (0, 1))
# ShapeError: roll got 3 shifts for 2 axes
