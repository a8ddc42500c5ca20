import numpy as np

import olympus.numpy as jnp

X = np.arange(24, dtype=np.float32).reshape(2, 3, 4)

jnp.apply_along_axis(jnp.sum, 3, X)
# ShapeError: axis 3 is out of bounds for array of dimension 3
