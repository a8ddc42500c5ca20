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
# At that key path, the prefix pytree vmap in_axes has a subtree of type
#     <class 'dict'>
# but at the same key path the full pytree has a subtree of different type
#     a leaf
#   in_axes: ({'a': 0},)
#   it applies to: PyTreeDef((*,))
