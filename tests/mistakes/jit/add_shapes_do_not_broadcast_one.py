import numpy as np

import olympus

X = np.arange(3.0, dtype=np.float32)

olympus.jit(lambda x, y: x + y)(X, X[:2])
# ShapeError: add: the shapes (3,), (2,) do not broadcast to one shape
