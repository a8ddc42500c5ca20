import numpy as np

import olympus

X = np.arange(3.0, dtype=np.float32)

olympus.jit(lambda x, y: x + y)(X, X[:2])
# ShapeError: add got incompatible shapes for broadcasting: (3,), (2,)
