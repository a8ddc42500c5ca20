import numpy as np

import olympus

X = np.arange(6, dtype=np.float32).reshape(2, 3)

olympus.grad(lambda x: None)(X)
# TransformError: Gradient only defined for scalar-output functions. Output was None: '<lambda>' returned PyTreeDef(None)
# hint: return (scalar, rest) and pass has_aux=True to get other results out
