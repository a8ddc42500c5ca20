import numpy as np

import olympus.numpy as jnp

X = np.ones((2, 3), np.float32)

jnp.concatenate([X, X[0]])
# ShapeError: concatenate needs operands of like shapes, and got f32[2,3], f32[3]
