import numpy as np

import olympus

A = np.arange(24.0, dtype=np.float32).reshape(2, 3, 4)

olympus.vmap(lambda x: x, out_axes=None)(A)
# TransformError: vmap of '<lambda>': out_axes is None for a result that differs from index to index
