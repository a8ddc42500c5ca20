import numpy as np

import olympus

A = np.arange(24.0, dtype=np.float32).reshape(2, 3, 4)

olympus.vmap(lambda t: t["a"], in_axes=({"b": 0},))({"a": A})
# TransformError: vmap in_axes specification must be a tree prefix of the corresponding value.
#   in_axes: ({'b': 0},)
#   it applies to: PyTreeDef(({'a': *},))
