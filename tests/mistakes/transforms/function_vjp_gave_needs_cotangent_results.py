import numpy as np

import olympus

X = np.arange(6, dtype=np.float32).reshape(2, 3)


def twice(x):
    return 2 * x


olympus.vjp(twice, X)[1]([X])
# TransformError: the function that vjp returned needs a cotangent of the result's structure.
#   result:    PyTreeDef(*)
#   cotangent: PyTreeDef([*])
