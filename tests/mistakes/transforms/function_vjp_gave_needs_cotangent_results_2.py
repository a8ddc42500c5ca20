import numpy as np

import olympus

X = np.array([0.3, -0.7, 1.1], np.float32)

olympus.vjp(lambda x: x, X)[1]((X, X))
# TransformError: unexpected tree structure of the argument to the VJP function of '<lambda>'. The tree structures differ:
# out was a pytree leaf in the original output, but a <class 'tuple'> here, so their Python types differ
