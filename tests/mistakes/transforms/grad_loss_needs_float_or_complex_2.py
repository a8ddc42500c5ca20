import numpy as np

import olympus


def loss(w, n):
    return (w["a"] * n).sum()


olympus.grad(loss)({"a": np.arange(3)}, 3)
# TransformError: grad of 'loss' needs float or complex arguments, and argument 'w'['a'] is int32[3]
# hint: cast it to a float, select others by argnums, or pass allow_int=True
