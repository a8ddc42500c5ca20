import numpy as np

import olympus

X = np.array([0.3, -0.7, 1.1], np.float32)

olympus.jvp(lambda x: x, X, X)
# TransformError: primal and tangent arguments to jax.jvp must be tuples or lists; found ndarray and ndarray: a NumPy array float32[3] and a NumPy array float32[3]
