import numpy as np

import olympus

X = np.arange(6, dtype=np.float32).reshape(2, 3)


def twice(x):
    return 2 * x


olympus.linearize(twice, X)[1](X[0])
# TransformError: linearized function called on tangent values inconsistent with the original primal values: got float32[3] for the primal float32[2,3]: the tangent of argument x must be float32[2,3], and is float32[3]
