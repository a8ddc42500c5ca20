import numpy as np

import olympus.numpy as jnp

X = np.array([0.5, 2.0, -1.0, 3.5, 3.5, 0.0], "float32")

jnp.gradient(X, edge_order=2)
# ArgumentError: gradient has edges of order 1, and got the order 2
