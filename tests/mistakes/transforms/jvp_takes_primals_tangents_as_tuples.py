import numpy as np

import olympus

X = np.arange(6, dtype=np.float32).reshape(2, 3)


def twice(x):
    return 2 * x


olympus.jvp(twice, X, X)
# TransformError: primal and tangent arguments to jax.jvp must be tuples or lists; found ndarray and ndarray: a NumPy array float32[2,3] and a NumPy array float32[2,3]
