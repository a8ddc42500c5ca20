import numpy as np

import olympus.numpy as jnp

SPECIAL = np.array([0.0, -0.0, np.nan, 1.0, -np.inf, np.inf, np.nan, -1.0], np.float32)

jnp.lexsort((SPECIAL, SPECIAL[1:]))
# ShapeError: Arguments to sort must have equal shapes, got: (7,) (8,) (8,)
