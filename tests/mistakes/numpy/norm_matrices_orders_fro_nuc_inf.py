import numpy as np

import olympus.numpy as jnp

Y = np.array([[1.0, 2.0, 4.0], [0.0, -3.0, 9.0]], "float32")

jnp.linalg.norm(Y, 3)
# ArgumentError: norm of matrices has orders 'fro', 'nuc', 1, -1, 2, -2, inf, -inf, and not 3
