import numpy as np

import olympus.numpy as jnp

X = np.ones((2, 3), np.float32)

jnp.add(X, np.ones((2, 4)))
# ShapeError: add got incompatible shapes for broadcasting: (2, 3), (2, 4)
