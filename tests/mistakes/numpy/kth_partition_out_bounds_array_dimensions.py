import numpy as np

import olympus.numpy as jnp

SPECIAL = np.array([0.0, -0.0, np.nan, 1.0, -np.inf, np.inf, np.nan, -1.0], np.float32)

jnp.partition(SPECIAL, 8)
# ShapeError: kth of partition 8 is out of bounds for an array of 8 dimensions
