import numpy as np

import olympus.numpy as jnp

X = np.ones((2, 3), np.float32)

jnp.where(X, X, X[:, :2])
# ShapeError: where: Incompatible shapes for broadcasting: shapes=[(2, 3), (2, 2), (2, 3)]
