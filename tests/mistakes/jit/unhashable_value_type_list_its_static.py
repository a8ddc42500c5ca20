import numpy as np

import olympus

X = np.arange(3.0, dtype=np.float32)

olympus.jit(lambda x, n: x, static_argnums=1)(X, [1])
# SignatureError: '<lambda>' got an unhashable value of type list for its static argument 1: [1]
# hint: pass a tuple for a list, or a frozen dataclass for a dict
