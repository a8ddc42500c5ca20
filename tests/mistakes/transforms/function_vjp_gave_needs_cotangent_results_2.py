import numpy as np

import olympus

X = np.array([0.3, -0.7, 1.1], np.float32)

olympus.vjp(lambda x: x, X)[1]((X, X))
# TransformError: the function that vjp returned needs a cotangent of the result's structure.
#   result:    PyTreeDef(*)
#   cotangent: PyTreeDef((*, *))
