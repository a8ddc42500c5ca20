import numpy as np

import olympus

X = np.arange(6, dtype=np.float32).reshape(2, 3)

olympus.jvp(lambda x: {"a": [x, "y"]}, (X,), (X,))
# TransformError: Argument 'y' of type <class 'str'> is not a valid JAX type: '<lambda>' returned a str 'y' as result['a'][1]
# hint: a function that is transformed returns arrays, scalars and trees of these
