import numpy as np

import olympus.numpy as jnp

X = np.ones((2, 3), np.float32)

jnp.pad(X, -1)
# ShapeError: pad needs widths >= 0, and got -1
