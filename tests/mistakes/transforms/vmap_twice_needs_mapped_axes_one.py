import numpy as np

import olympus

X = np.arange(6, dtype=np.float32).reshape(2, 3)


def twice(x):
    return 2 * x


olympus.vmap(twice, axis_size=5)(X)
# TransformError: vmap got inconsistent sizes for array axes to be mapped:
#   * the `axis_size` argument was 5;
#   * one axis had size 2: axis 0 of argument x of type float32[2,3]
# The function is 'twice'
