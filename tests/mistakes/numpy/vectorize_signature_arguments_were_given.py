import numpy as np

import olympus.numpy as jnp

X = np.arange(24, dtype=np.float32).reshape(2, 3, 4)

jnp.vectorize(abs, signature="(),()->()")(X)
# ArgumentError: vectorize: the signature has 2 arguments, and 1 were given
