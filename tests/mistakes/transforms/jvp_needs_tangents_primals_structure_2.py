import numpy as np

import olympus

X = np.array([0.3, -0.7, 1.1], np.float32)

olympus.jvp(lambda x: x, (X,), (X, X))
# TransformError: jvp needs tangents of the primals' structure.
#   primals:  PyTreeDef((*,))
#   tangents: PyTreeDef((*, *))
