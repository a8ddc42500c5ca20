import numpy as np

import olympus.numpy as jnp

X = np.arange(24, dtype=np.float32).reshape(2, 3, 4)

jnp.vectorize(jnp.dot, signature="(m),(m)->()")(X, X[0, 0, :2])
# ShapeError: vectorize: the dimension 'm' of argument 1 has the size 2, and elsewhere 4
