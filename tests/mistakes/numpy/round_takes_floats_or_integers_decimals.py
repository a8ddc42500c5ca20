import numpy as np

import olympus.numpy as jnp

N = np.array([0, 2, 2, 5, 1, 2], "int32")

jnp.round(N, -1)
# UnsupportedError: integer round not implemented for decimals < 0: they are -1
# hint: round a float: x.astype(float)
