import numpy as np

import olympus.numpy as jnp

X = np.ones((2, 3), np.float32)

jnp.stack([X], out=X)
# UnsupportedError: stack does not take 'out': arrays cannot be written to
# hint: use the result
