import numpy as np

import olympus

X = np.arange(6, dtype=np.float32).reshape(2, 3)

olympus.grad(lambda x: x.sum(), has_aux=True)(X)
# TransformError: with has_aux, '<lambda>' must return a pair (result, aux), and returned float32[]
