import numpy as np

import olympus

X = np.arange(6, dtype=np.float32).reshape(2, 3)


def twice(x):
    return 2 * x


olympus.vmap(twice, in_axes=None)(X)
# TransformError: vmap must have at least one non-None value in in_axes or axis_size must be specified: 'twice' has no mapped argument
# hint: give one argument an axis, or pass axis_size
