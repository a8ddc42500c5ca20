import numpy as np

import olympus

X = np.arange(6, dtype=np.float32).reshape(2, 3)


def twice(x):
    return 2 * x


olympus.vmap(twice, in_axes=-3)(X)
# TransformError: vmap was requested to map its argument along axis -3, which implies that its rank should be at least 3, but is only 2 (its shape is (2, 3)): it is argument x of 'twice'
# hint: pass None for it in in_axes where it is the same for every index
