import numpy as np

import olympus.numpy as jnp

X = np.array([0.5, 2.0, -1.0, 3.5, 3.5, 0.0], "float32")

jnp.linalg.norm(X, "fro")
# ArgumentError: norm of vectors has no order 'fro'
