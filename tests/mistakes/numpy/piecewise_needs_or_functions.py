import numpy as np

import olympus.numpy as jnp

X = np.ones((2, 3), np.float32)

jnp.piecewise(X, [X > 0], [1, 2, 3])
# ArgumentError: piecewise needs 1 or 2 functions, and got 3
