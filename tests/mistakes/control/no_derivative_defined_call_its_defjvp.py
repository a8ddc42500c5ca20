import numpy as np

import olympus

X = np.float32(0.7)

olympus.custom_jvp(lambda x: x)(X)
# TransformError: no derivative is defined for '<lambda>': call its defjvp
