import numpy as np

import olympus

X = np.arange(6, dtype=np.float32).reshape(2, 3)


def loss(w, n):
    return (w["a"] * n).sum()


olympus.grad(loss, argnums=2)({"a": X}, 3.0)
# TransformError: differentiating with respect to argnums=2 requires at least 3 positional arguments to be passed by the caller, but got only 2 positional arguments for 'loss'
# hint: pass the selected arguments by position
