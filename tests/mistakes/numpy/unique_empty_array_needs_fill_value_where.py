import numpy as np

import olympus.numpy as jnp

SPECIAL = np.array([0.0, -0.0, np.nan, 1.0, -np.inf, np.inf, np.nan, -1.0], np.float32)

jnp.unique(SPECIAL[:0], size=2)
# ShapeError: unique of an empty array needs a fill_value if size is above 0
