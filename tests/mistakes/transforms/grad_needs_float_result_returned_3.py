import numpy as np

import olympus

X = np.array([0.3, -0.7, 1.1], np.float32)

olympus.grad(lambda x: x.sum().astype(int))(X)
# TransformError: grad requires real-valued outputs (output dtype that is a sub-dtype of np.floating), but got int32. For differentiation of functions with integer outputs, use jax.vjp directly. Here '<lambda>' returned int32[]
# hint: return a float scalar
