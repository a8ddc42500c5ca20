import numpy as np

import olympus.numpy as jnp

X = np.ones((2, 3), np.float32)

jnp.pad(X, ((1, 2),) * 3)
# ShapeError: pad of 2 axes needs a pair of widths for each, or for all, and got ((1, 2), (1, 2), (1, 2))
