import numpy as np

import olympus

A = np.arange(24.0, dtype=np.float32).reshape(2, 3, 4)

olympus.vmap(lambda x, y: x)(A, A[0])
# TransformError: vmap got inconsistent sizes for array axes to be mapped:
#   * one axis had size 2: axis 0 of argument x of type float32[2,3,4];
#   * one axis had size 3: axis 0 of argument y of type float32[3,4]
# The function is '<lambda>'
