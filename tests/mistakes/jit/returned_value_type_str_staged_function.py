import numpy as np

import olympus

X = np.arange(3.0, dtype=np.float32)

olympus.jit(lambda x: "text")(X)
# SignatureError: '<lambda>' returned a value of type str; a staged function returns arrays, scalars and containers of these
