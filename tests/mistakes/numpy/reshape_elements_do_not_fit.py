import numpy as np

import olympus.numpy as jnp

X = np.ones((2, 3), np.float32)

jnp.reshape(X, (4, -1))
# ShapeError: cannot reshape array of shape (2, 3) (size 6) into shape (4, -1) because the product of specified axis sizes (4) does not evenly divide 6
