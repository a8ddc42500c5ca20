import numpy as np

import olympus.numpy as jnp

SPECIAL = np.array([0.0, -0.0, np.nan, 1.0, -np.inf, np.inf, np.nan, -1.0], np.float32)

jnp.searchsorted(SPECIAL, 1, side="top")
# ArgumentError: searchsorted has the sides 'left' and 'right', and got 'top'
