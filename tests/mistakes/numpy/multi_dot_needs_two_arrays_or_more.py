import numpy as np

import olympus.numpy as jnp

Y = np.array([[1.0, 2.0, 4.0], [0.0, -3.0, 9.0]], "float32")

jnp.linalg.multi_dot([Y])
# ShapeError: multi_dot needs two arrays or more, and got 1
