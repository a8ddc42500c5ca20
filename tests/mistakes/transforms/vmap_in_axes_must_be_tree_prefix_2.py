import numpy as np

import olympus

A = np.arange(24.0, dtype=np.float32).reshape(2, 3, 4)

olympus.vmap(lambda t: t["a"], in_axes=({"b": 0},))({"a": A})
# TransformError: vmap in_axes specification must be a tree prefix of the corresponding value.
# Mismatch details (1 found):
# pytree structure error: different pytree metadata at key path
#     vmap in_axes[0]
# At that key path, the prefix pytree vmap in_axes has a subtree of type
#     <class 'dict'>
# with metadata
#     ('b',)
# but at the same key path the full pytree has a subtree of the same type but with metadata
#     ('a',)
#   in_axes: ({'b': 0},)
#   it applies to: PyTreeDef(({'a': *},))
