import numpy as np

import olympus

X = np.arange(6, dtype=np.float32).reshape(2, 3)


def twice(x):
    return 2 * x


olympus.jvp(twice, (X,), (X[0],))
# TransformError: jvp called with different primal and tangent shapes;Got primal shape (2, 3) and tangent shape as (3,): the tangent of argument x must be float32[2,3], and is float32[3]
