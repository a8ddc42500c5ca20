import numpy as np

import olympus

X = np.arange(6, dtype=np.float32).reshape(2, 3)


def loss(w, n):
    return (w["a"] * n).sum()


olympus.grad(loss, argnums=2)({"a": X}, 3.0)
# TransformError: argnums of the derivative of 'loss' has 2, and it was called with 2 positional arguments
# hint: pass the selected arguments by position
