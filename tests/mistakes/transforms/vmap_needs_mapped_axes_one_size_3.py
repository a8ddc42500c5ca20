import numpy as np

import olympus

A = np.arange(24.0, dtype=np.float32).reshape(2, 3, 4)

olympus.vmap(lambda x: x, axis_size=4)(A)
# TransformError: vmap got inconsistent sizes for array axes to be mapped:
#   * the `axis_size` argument was 4;
#   * one axis had size 2: axis 0 of argument x of type float32[2,3,4]
# The function is '<lambda>'
