import numpy as np

import olympus

X = np.arange(3.0, dtype=np.float32)

olympus.jit(lambda x: "text")(X)
# SignatureError: function '<lambda>' traced for jit returned a value of type <class 'str'>, which is not a valid JAX type: a staged function returns arrays, scalars and containers of these
