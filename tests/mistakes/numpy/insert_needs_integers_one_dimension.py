import numpy as np

import olympus.numpy as jnp

X = np.ones((2, 3), np.float32)

jnp.insert(X, np.array([[0]]), 1)
# IndexingError: insert needs integers in one dimension, and got int32[1,1]
