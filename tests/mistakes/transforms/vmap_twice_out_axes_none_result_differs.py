import numpy as np

import olympus

X = np.arange(6, dtype=np.float32).reshape(2, 3)


def twice(x):
    return 2 * x


olympus.vmap(twice, out_axes=None)(X)
# TransformError: vmap of 'twice': out_axes is None for a result that differs from index to index
