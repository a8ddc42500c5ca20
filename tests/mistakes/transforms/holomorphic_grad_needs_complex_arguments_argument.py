import numpy as np

import olympus

X = np.arange(6, dtype=np.float32).reshape(2, 3)

olympus.grad(lambda x: x.sum(), holomorphic=True)(X)
# TransformError: with holomorphic, grad of '<lambda>' needs complex arguments, and argument 'x' is float32[2,3]
