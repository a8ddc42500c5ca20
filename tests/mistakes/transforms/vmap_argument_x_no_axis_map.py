import numpy as np

import olympus

X = np.arange(6, dtype=np.float32).reshape(2, 3)


def twice(x):
    return 2 * x


olympus.vmap(twice, in_axes=-3)(X)
# TransformError: vmap: argument 'x' is float32[2,3], and has no axis -3 to map over
# hint: pass None for it in in_axes where it is the same for every index
