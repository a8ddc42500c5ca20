import numpy as np

import olympus.numpy as jnp

X = np.ones((2, 3), np.float32)

jnp.pad(X, 1, mode="mirror")
# UnsupportedError: Unimplemented padding mode 'mirror' for pad
# hint: the modes are 'constant', 'edge', 'empty', 'linear_ramp', 'reflect', 'symmetric', 'wrap', 'maximum', 'minimum', 'mean', 'median'
