import numpy as np

import olympus

A = np.arange(24.0, dtype=np.float32).reshape(2, 3, 4)

olympus.vmap(lambda x: x, in_axes=None)(A)
# TransformError: vmap of '<lambda>' maps over no argument: in_axes is None for all
# hint: give one argument an axis, or pass axis_size
