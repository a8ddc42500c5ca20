import numpy as np

import olympus

X = np.array([0.3, -0.7, 1.1], np.float32)

olympus.jvp(lambda x: x, (X,), (X[:2],))
# TransformError: jvp called with different primal and tangent shapes;Got primal shape (3,) and tangent shape as (2,): the tangent of argument x must be float32[3], and is float32[2]
