import numpy as np

import olympus

A = np.arange(24.0, dtype=np.float32).reshape(2, 3, 4)

olympus.vmap(lambda x: x, out_axes=None)(A)
# TransformError: at vmap out_axes, got axis spec None but output was batched on axis 0: the result of '<lambda>' differs from index to index
