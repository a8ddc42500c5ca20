import numpy as np

import olympus

X = np.arange(6, dtype=np.float32).reshape(2, 3)


def twice(x):
    return 2 * x


olympus.vmap(twice, out_axes=4)(X)
# TransformError: axis 4 is out of bounds for array of dimension 2: it is out_axes of vmap of 'twice'
