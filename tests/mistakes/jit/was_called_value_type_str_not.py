import numpy as np

import olympus

X = np.arange(3.0, dtype=np.float32)

olympus.jit(lambda x: x).lower(X).compile()("a")
# SignatureError: Argument 'a' of type <class 'str'> is not a valid JAX type: a value of type str is not an array, and is an argument of '<lambda>'
