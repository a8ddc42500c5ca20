import numpy as np

import olympus.numpy as jnp

Y = np.array([[1.0, 2.0, 4.0], [0.0, -3.0, 9.0]], "float32")

jnp.gradient(Y, 1.0, 2.0, 3.0)
# ShapeError: gradient got 3 distances for 2 axes
