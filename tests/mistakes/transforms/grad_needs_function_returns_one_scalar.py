import numpy as np

import olympus

X = np.arange(6, dtype=np.float32).reshape(2, 3)

olympus.grad(lambda x: {"a": x.sum(), "b": 1.0})(X)
# TransformError: Gradient only defined for scalar-output functions. Output was {'a': ShapedArray(float32[]), 'b': 1.0}: '<lambda>' returned PyTreeDef({'a': *, 'b': *})
# hint: return (scalar, rest) and pass has_aux=True to get other results out
