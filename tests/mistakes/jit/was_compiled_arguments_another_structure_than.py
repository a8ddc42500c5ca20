import numpy as np

import olympus

X = np.arange(3.0, dtype=np.float32)

olympus.jit(lambda x: x).lower(X).compile()(X, X)
# SignatureError: '<lambda>' was compiled for arguments of another structure: Function compiled with input pytree does not match the input pytree it was called with. There are 1 mismatches, including:
#     * at args, seen tuple of length 1 but now given tuple of length 2, so the lengths do not match
# hint: the call has the unexpected [1]
