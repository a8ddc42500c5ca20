import numpy as np

import olympus.numpy as jnp

SPECIAL = np.array([0.0, -0.0, np.nan, 1.0, -np.inf, np.inf, np.nan, -1.0], np.float32)

jnp.sort(SPECIAL, axis=1)
# ShapeError: axis 1 is out of bounds for array of dimension 1, in the axis of sort
