import numpy as np

import olympus.numpy as jnp

rng = np.random.default_rng(0)

X = rng.normal(size=(3, 4, 2, 3, 2)).astype("float32")

C = (X + 1j * rng.normal(size=X.shape)).astype("complex64")

jnp.fft.fftn(C, axes=(1, 1))
# ShapeError: duplicate value in 'axis': (1, 1), in the axis of fftn
