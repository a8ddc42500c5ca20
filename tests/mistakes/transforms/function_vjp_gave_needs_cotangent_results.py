import numpy as np

import olympus

X = np.arange(6, dtype=np.float32).reshape(2, 3)


def twice(x):
    return 2 * x


olympus.vjp(twice, X)[1]([X])
# TransformError: unexpected tree structure of the argument to the VJP function of 'twice'. The tree structures differ:
# out was a pytree leaf in the original output, but a <class 'list'> here, so their Python types differ
