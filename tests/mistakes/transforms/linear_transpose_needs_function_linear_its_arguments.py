import numpy as np

import olympus

X = np.arange(6, dtype=np.float32).reshape(2, 3)

olympus.linear_transpose(lambda x: x * x, X)(X)
# TransformError: linear_transpose needs a function that is linear in its arguments, and '<lambda>' is not: an operation uses an argument in which it is not linear
