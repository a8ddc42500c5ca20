import numpy as np

import olympus

X = np.arange(6, dtype=np.float32).reshape(2, 3)

olympus.vmap(lambda x, *, k: x)(X, k=X[0])
# TransformError: vmap got inconsistent sizes for array axes to be mapped:
#   * one axis had size 2: axis 0 of argument x of type float32[2,3];
#   * one axis had size 3: axis 0 of kwargs['k'] of type float32[3]
# The function is '<lambda>'
