import numpy as np

import olympus

X = np.arange(6, dtype=np.float32).reshape(2, 3)


def twice(x):
    return 2 * x


olympus.vjp(twice, X)[1](X[0])
# TransformError: unexpected JAX type (e.g. shape/dtype) for argument to VJP function: got float32[3], but expected float32[2,3]: the cotangent of result 0 must be float32[2,3], and is float32[3]
