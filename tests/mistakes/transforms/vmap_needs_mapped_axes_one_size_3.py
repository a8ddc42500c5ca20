import numpy as np

import olympus

A = np.arange(24.0, dtype=np.float32).reshape(2, 3, 4)

olympus.vmap(lambda x: x, axis_size=4)(A)
# TransformError: vmap of '<lambda>' needs mapped axes of one size:
#   argument 'x', float32[2,3,4], is mapped over axis 0, of size 2
#   axis_size is 4
