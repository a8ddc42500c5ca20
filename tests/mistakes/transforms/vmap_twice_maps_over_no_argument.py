import numpy as np

import olympus

X = np.arange(6, dtype=np.float32).reshape(2, 3)


def twice(x):
    return 2 * x


olympus.vmap(twice, in_axes=None)(X)
# TransformError: vmap of 'twice' maps over no argument: in_axes is None for all
# hint: give one argument an axis, or pass axis_size
