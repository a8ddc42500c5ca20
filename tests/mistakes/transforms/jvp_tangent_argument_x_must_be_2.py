import numpy as np

import olympus

X = np.arange(6, dtype=np.float32).reshape(2, 3)


def twice(x):
    return 2 * x


olympus.jvp(twice, (X,), (X.astype(int),))
# TransformError: primal and tangent arguments to jax.jvp do not match; dtypes must be equal, or in case of int/bool primal dtype the tangent dtype must be float0. Got primal dtype float32 and so expected tangent dtype float32, but got tangent dtype int32 instead: the tangent of argument x must be float32[2,3], and is int32[2,3]
