import numpy as np

import olympus.numpy as jnp

SPECIAL = np.array([0.0, -0.0, np.nan, 1.0, -np.inf, np.inf, np.nan, -1.0], np.float32)

jnp.sort(SPECIAL, axis=1)
# ShapeError: the axis of sort 1 is out of bounds for an array of 1 dimensions
