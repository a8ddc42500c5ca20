import numpy as np

import olympus

X = np.arange(6, dtype=np.float32).reshape(2, 3)


def loss(w, n):
    return (w["a"] * n).sum()


olympus.vmap(loss, in_axes=(0, 1))({"a": X, "b": X.T}, X)
# TransformError: vmap of 'loss' needs mapped axes of one size:
#   argument 'w'['a'], float32[2,3], is mapped over axis 0, of size 2
#   argument 'w'['b'], float32[3,2], is mapped over axis 0, of size 3
#   argument 'n', float32[2,3], is mapped over axis 1, of size 3
