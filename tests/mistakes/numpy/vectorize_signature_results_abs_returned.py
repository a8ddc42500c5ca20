import numpy as np

import olympus.numpy as jnp

X = np.arange(24, dtype=np.float32).reshape(2, 3, 4)

jnp.vectorize(abs, signature="(m)->(),()")(X)
# ArgumentError: output must be a tuple when multiple outputs are expected, got: float32[4] on vectorized function with excluded=frozenset() and signature='(m)->(),()'
