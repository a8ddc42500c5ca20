import numpy as np

import olympus


def loss(w, n):
    return (w["a"] * n).sum()


olympus.grad(loss)({"a": np.arange(3)}, 3)
# TransformError: grad requires real- or complex-valued inputs (input dtype that is a sub-dtype of np.inexact), but got int32. If you want to use Boolean- or integer-valued inputs, use vjp or set allow_int to True. Here argument w['a'] of 'loss' is int32[3]
# hint: cast it to a float, select others by argnums, or pass allow_int=True
