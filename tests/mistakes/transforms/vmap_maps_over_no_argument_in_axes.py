import numpy as np

import olympus

A = np.arange(24.0, dtype=np.float32).reshape(2, 3, 4)

olympus.vmap(lambda x: x, in_axes=None)(A)
# TransformError: vmap must have at least one non-None value in in_axes or axis_size must be specified: '<lambda>' has no mapped argument
# hint: give one argument an axis, or pass axis_size
