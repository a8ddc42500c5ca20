import numpy as np

import olympus.numpy as jnp

X = np.ones((2, 3), np.float32)

jnp.pad(X, 1, mode="edge", constant_values=1)
# ArgumentError: pad in mode 'edge' has no option constant_values
