import numpy as np

import olympus.numpy as jnp

Y = np.array([[1.0, 2.0, 4.0], [0.0, -3.0, 9.0]], "float32")

jnp.linalg.norm(Y[None], axis=(0, 1, 2))
# ShapeError: norm needs one axis or two, and got the axes (0, 1, 2)
