import numpy as np

import olympus

X = np.arange(6, dtype=np.float32).reshape(2, 3)

olympus.vmap(lambda x, *, k: x)(X, k=X[0])
# TransformError: vmap of '<lambda>' needs mapped axes of one size:
#   argument 'x', float32[2,3], is mapped over axis 0, of size 2
#   argument 'k', float32[3], is mapped over axis 0, of size 3
