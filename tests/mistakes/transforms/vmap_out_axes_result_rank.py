import numpy as np

import olympus

A = np.arange(24.0, dtype=np.float32).reshape(2, 3, 4)

olympus.vmap(lambda x: x, out_axes=5)(A)
# TransformError: vmap of '<lambda>': out_axes has 5 for a result of rank 3
