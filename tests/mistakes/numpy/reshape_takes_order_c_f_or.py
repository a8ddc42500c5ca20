import numpy as np

import olympus.numpy as jnp

X = np.ones((2, 3), np.float32)

jnp.reshape(X, (6,), order="Z")
# ArgumentError: Unexpected value for 'order' argument: Z.
