import numpy as np

import olympus

X = np.arange(6, dtype=np.float32).reshape(2, 3)


def twice(x):
    return 2 * x


olympus.vmap(twice, in_axes=({"a": 0},))(X)
# TransformError: vmap in_axes specification must be a tree prefix of the corresponding value.
# Mismatch details (1 found):
# pytree structure error: different types at key path
#     vmap in_axes[0]
# the prefix has a dict there, and the tree has a leaf
#   in_axes: ({'a': 0},)
#   it applies to: PyTreeDef((*,))
