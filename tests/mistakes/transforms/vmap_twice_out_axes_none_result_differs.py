import numpy as np

import olympus

X = np.arange(6, dtype=np.float32).reshape(2, 3)


def twice(x):
    return 2 * x


olympus.vmap(twice, out_axes=None)(X)
# TransformError: at vmap out_axes, got axis spec None but output was batched on axis 0: the result of 'twice' differs from index to index
