import numpy as np

import olympus.numpy as jnp

X = np.array([0.5, 2.0, -1.0, 3.5, 3.5, 0.0], "float32")

jnp.gradient(X, edge_order=2)
# UnsupportedError: The 'edge_order' argument to gradient is not supported: it is 1, and not 2
