import numpy as np

import olympus as ox

SPECIAL = np.array([0.0, -0.0, np.nan, 1.0, -np.inf, np.inf, np.nan, -1.0], np.float32)

ox.lax.top_k(SPECIAL, 9)
# ShapeError: top_k of float32[8] cannot give 9 elements of its last axis
