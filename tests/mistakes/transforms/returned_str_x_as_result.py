import numpy as np

import olympus

X = np.arange(6, dtype=np.float32).reshape(2, 3)

olympus.grad(lambda x: "x")(X)
# TransformError: Argument 'x' of type <class 'str'> is not a valid JAX type: '<lambda>' returned a str 'x' as result
# hint: a function that is transformed returns arrays, scalars and trees of these
