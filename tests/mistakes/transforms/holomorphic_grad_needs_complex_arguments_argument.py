import numpy as np

import olympus

X = np.arange(6, dtype=np.float32).reshape(2, 3)

olympus.grad(lambda x: x.sum(), holomorphic=True)(X)
# TransformError: grad with holomorphic=True requires inputs with complex dtype, but got float32: argument x of '<lambda>' is float32[2,3]
