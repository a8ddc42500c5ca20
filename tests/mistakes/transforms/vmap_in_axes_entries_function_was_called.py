import numpy as np

import olympus

X = np.arange(6, dtype=np.float32).reshape(2, 3)


def twice(x):
    return 2 * x


olympus.vmap(twice, in_axes=(0, 0))(X)
# TransformError: vmap: in_axes has 2 entries, and the function was called with 1 positional arguments
