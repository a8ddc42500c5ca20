import numpy as np

import olympus as ox

SPECIAL = np.array([0.0, -0.0, np.nan, 1.0, -np.inf, np.inf, np.nan, -1.0], np.float32)

ox.lax.top_k(SPECIAL, 9)
# ShapeError: k argument to top_k must be no larger than size along axis; got k=9 with shape=[8] and axis=0
