import numpy as np

import olympus

X = np.array([0.3, -0.7, 1.1], np.float32)

olympus.vjp(lambda x: x, X)[1](X[:1])
# TransformError: unexpected JAX type (e.g. shape/dtype) for argument to VJP function: got float32[1], but expected float32[3]: the cotangent of result 0 must be float32[3], and is float32[1]
