import numpy as np

import olympus.numpy as jnp

X = np.arange(24, dtype=np.float32).reshape(2, 3, 4)

jnp.vectorize(abs, signature="(),()->()")(X)
# ArgumentError: vectorize needs the 2 arguments of the signature, and got 1
