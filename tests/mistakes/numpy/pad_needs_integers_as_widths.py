import numpy as np

import olympus.numpy as jnp

X = np.ones((2, 3), np.float32)

jnp.pad(X, 1.5)
# ShapeError: pad needs integers as widths, and got 1.5
