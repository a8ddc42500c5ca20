import numpy as np

import olympus

A = np.arange(24.0, dtype=np.float32).reshape(2, 3, 4)

olympus.vmap(lambda x: x, out_axes=5)(A)
# TransformError: axis 5 is out of bounds for array of dimension 3: it is out_axes of vmap of '<lambda>'
