import numpy as np

import olympus.numpy as jnp

SPECIAL = np.array([0.0, -0.0, np.nan, 1.0, -np.inf, np.inf, np.nan, -1.0], np.float32)

jnp.partition(SPECIAL, 8)
# ShapeError: axis 8 is out of bounds for array of dimension 8, in kth of partition
