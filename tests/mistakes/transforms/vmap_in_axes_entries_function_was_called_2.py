import numpy as np

import olympus

A = np.arange(24.0, dtype=np.float32).reshape(2, 3, 4)

olympus.vmap(lambda x: x, in_axes=(0, 0))(A)
# TransformError: vmap in_axes must be an int, None, or a tuple of entries corresponding to the positional arguments passed to the function, but got len(in_axes)=2, len(args)=1 for '<lambda>'
