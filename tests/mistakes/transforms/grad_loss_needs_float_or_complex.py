import numpy as np

import olympus

X = np.arange(6, dtype=np.float32).reshape(2, 3)


def loss(w, n):
    return (w["a"] * n).sum()


olympus.grad(loss, argnums=1)({"a": X}, 3)
# TransformError: grad requires real- or complex-valued inputs (input dtype that is a sub-dtype of np.inexact), but got int32. If you want to use Boolean- or integer-valued inputs, use vjp or set allow_int to True. Here argument n of 'loss' is int32[]
# hint: cast it to a float, select others by argnums, or pass allow_int=True
