import numpy as np

import olympus.numpy as jnp

X = np.arange(24, dtype=np.float32).reshape(2, 3, 4)

jnp.vectorize(abs, signature="(m)->()")(X)
# ShapeError: output shape (4,) does not match core dimensions () on vectorized function with excluded=frozenset() and signature='(m)->()': it is result 0
