import numpy as np

import olympus

X = np.arange(6, dtype=np.float32).reshape(2, 3)


def twice(x):
    return 2 * x


olympus.vmap(twice, in_axes=True)(X)
# TransformError: vmap in_axes must be an int, None, or (nested) container with those types as leaves, but got True
