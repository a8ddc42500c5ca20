import numpy as np

import olympus

X = np.arange(6, dtype=np.float32).reshape(2, 3)


def loss(w, n):
    return (w["a"] * n).sum()


olympus.jacfwd(loss, argnums=())({"a": X}, 3.0)
# TransformError: argnums of the derivative of 'loss' has no argument: ()
