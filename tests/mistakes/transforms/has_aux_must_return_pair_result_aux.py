import numpy as np

import olympus

X = np.arange(6, dtype=np.float32).reshape(2, 3)

olympus.grad(lambda x: x.sum(), has_aux=True)(X)
# TransformError: expected function with aux output to return a two-element tuple, but got type float32[]: '<lambda>' must return a pair (result, aux)
