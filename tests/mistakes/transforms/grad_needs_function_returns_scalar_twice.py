import numpy as np

import olympus

X = np.arange(6, dtype=np.float32).reshape(2, 3)


def twice(x):
    return 2 * x


olympus.grad(twice)(X)
# TransformError: Gradient only defined for scalar-output functions. Output had shape: (2, 3): 'twice' returned float32[2,3]
# hint: sum or average the result, or use jacrev for all derivatives
