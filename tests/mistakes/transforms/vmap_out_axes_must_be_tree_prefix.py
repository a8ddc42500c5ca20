import numpy as np

import olympus

X = np.arange(6, dtype=np.float32).reshape(2, 3)


def twice(x):
    return 2 * x


olympus.vmap(twice, out_axes=(0, 0))(X)
# TransformError: vmap out_axes specification must be a tree prefix of the corresponding value.
# Mismatch details (1 found):
# pytree structure error: different types at key path
#     vmap out_axes
# the prefix has a tuple there, and the tree has a leaf
#   out_axes: (0, 0)
#   it applies to: PyTreeDef(*)
