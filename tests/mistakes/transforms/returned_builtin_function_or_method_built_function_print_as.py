import numpy as np

import olympus

X = np.arange(6, dtype=np.float32).reshape(2, 3)

olympus.vmap(lambda x: (x, print))(X)
# TransformError: Argument '<built-in function print>' of type <class 'builtin_function_or_method'> is not a valid JAX type: '<lambda>' returned a builtin_function_or_method <built-in function print> as result[1]
# hint: a function that is transformed returns arrays, scalars and trees of these
