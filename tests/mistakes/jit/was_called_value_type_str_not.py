import numpy as np

import olympus

X = np.arange(3.0, dtype=np.float32)

olympus.jit(lambda x: x).lower(X).compile()("a")
# SignatureError: '<lambda>' was called with a value of type str is not an array: 'a'
