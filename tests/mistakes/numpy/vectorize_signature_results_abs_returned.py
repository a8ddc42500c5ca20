import numpy as np

import olympus.numpy as jnp

X = np.arange(24, dtype=np.float32).reshape(2, 3, 4)

jnp.vectorize(abs, signature="(m)->(),()")(X)
# ArgumentError: vectorize: the signature has 2 results, and abs returned 1
