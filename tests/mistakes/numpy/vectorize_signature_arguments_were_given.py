import numpy as np

import olympus.numpy as jnp

X = np.arange(24, dtype=np.float32).reshape(2, 3, 4)

jnp.vectorize(abs, signature="(),()->()")(X)
# ArgumentError: wrong number of positional arguments: expected 2, got 1 on vectorized function with excluded=frozenset() and signature='(),()->()'
