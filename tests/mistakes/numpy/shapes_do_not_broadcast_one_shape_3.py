import numpy as np

import olympus.numpy as jnp

X = np.arange(24, dtype=np.float32).reshape(2, 3, 4)

jnp.vectorize(jnp.add)(X, X[:, :2])
# ShapeError: Incompatible shapes for broadcasting: shapes=[(2, 3, 4), (2, 2, 4)]
