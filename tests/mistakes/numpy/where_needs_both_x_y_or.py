import numpy as np

import olympus.numpy as jnp

X = np.ones((2, 3), np.float32)

jnp.where(X, 1)
# ArgumentError: where needs both x and y, or neither
