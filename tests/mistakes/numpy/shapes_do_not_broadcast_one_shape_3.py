import numpy as np

import olympus.numpy as jnp

X = np.arange(24, dtype=np.float32).reshape(2, 3, 4)

jnp.vectorize(jnp.add)(X, X[:, :2])
# ShapeError: the shapes (2, 3, 4), (2, 2, 4) do not broadcast to one shape
