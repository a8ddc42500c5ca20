import numpy as np

import olympus

X = np.arange(6, dtype=np.float32).reshape(2, 3)


def twice(x):
    return 2 * x


olympus.vmap(twice, axis_size=5)(X)
# TransformError: vmap of 'twice' needs mapped axes of one size:
#   argument 'x', float32[2,3], is mapped over axis 0, of size 2
#   axis_size is 5
