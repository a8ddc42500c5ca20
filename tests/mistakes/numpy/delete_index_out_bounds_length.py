import numpy as np

import olympus.numpy as jnp

X = np.ones((2, 3), np.float32)

jnp.delete(X, 7)
# IndexingError: delete got an index that is out of bounds for length 6
