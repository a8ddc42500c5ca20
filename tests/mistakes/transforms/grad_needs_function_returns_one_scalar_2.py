import numpy as np

import olympus

X = np.arange(6, dtype=np.float32).reshape(2, 3)

olympus.grad(lambda x: None)(X)
# TransformError: grad needs a function that returns one scalar, and '<lambda>' returned PyTreeDef(None)
# hint: return (scalar, rest) and pass has_aux=True to get other results out
