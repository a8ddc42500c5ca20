import numpy as np

import olympus

X = np.arange(6, dtype=np.float32).reshape(2, 3)


def loss(w, n):
    return (w["a"] * n).sum()


olympus.vmap(loss, in_axes=({"a": 0.0}, 0))({"a": X}, X)
# TransformError: vmap in_axes must be an int, None, or (nested) container with those types as leaves, but got 0.0
