import numpy as np

import olympus

X = np.array([0.3, -0.7, 1.1], np.float32)

olympus.grad(lambda x: x)(X)
# TransformError: Gradient only defined for scalar-output functions. Output had shape: (3,): '<lambda>' returned float32[3]
# hint: sum or average the result, or use jacrev for all derivatives
