import numpy as np

import olympus.numpy as jnp

X = np.ones((2, 3), np.float32)

jnp.broadcast_to(X, (2, 4))
# ShapeError: Incompatible types for broadcasting: input type=float32[2,3] and requested type=float32[2,4]
