import numpy as np

import olympus

X = np.arange(6, dtype=np.float32).reshape(2, 3)


def loss(w, n):
    return (w["a"] * n).sum()


olympus.vmap(loss, in_axes=(0, 1))({"a": X, "b": X.T}, X)
# TransformError: vmap got inconsistent sizes for array axes to be mapped:
#   * most axes (2 of them) had size 3, e.g. axis 0 of argument w['b'] of type float32[3,2];
#   * one axis had size 2: axis 0 of argument w['a'] of type float32[2,3]
# The function is 'loss'
