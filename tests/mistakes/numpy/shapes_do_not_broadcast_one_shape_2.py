import numpy as np

import olympus.numpy as jnp

X = np.ones((2, 3), np.float32)

jnp.broadcast_to(X, (2, 4))
# ShapeError: Incompatible shapes for broadcasting: shapes=[(2, 3), (2, 4)]
