import numpy as np

import olympus.numpy as jnp

X = np.arange(24, dtype=np.float32).reshape(2, 3, 4)

jnp.vectorize(jnp.dot, signature="(m),(m)->()")(X, X[0, 0, :2])
# ShapeError: inconsistent size for core dimension 'm': 2 vs 4, for argument 1 on vectorized function with excluded=frozenset() and signature='(m),(m)->()'
