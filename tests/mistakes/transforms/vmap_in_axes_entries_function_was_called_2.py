import numpy as np

import olympus

A = np.arange(24.0, dtype=np.float32).reshape(2, 3, 4)

olympus.vmap(lambda x: x, in_axes=(0, 0))(A)
# TransformError: vmap: in_axes has 2 entries, and the function was called with 1 positional arguments
