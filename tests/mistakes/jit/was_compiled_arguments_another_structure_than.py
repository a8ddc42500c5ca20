import numpy as np

import olympus

X = np.arange(3.0, dtype=np.float32)

olympus.jit(lambda x: x).lower(X).compile()(X, X)
# SignatureError: '<lambda>' was compiled for arguments of another structure: Function compiled with input pytree does not match the input pytree it was called with.
#   compiled for: PyTreeDef(((*,), {}))
#   called with:  PyTreeDef(((*, *), {}))
# hint: the call has the unexpected [1]
