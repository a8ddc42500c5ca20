import numpy as np

import olympus.numpy as jnp

rng = np.random.default_rng(0)

X = rng.normal(size=(3, 4, 2, 3, 2)).astype("float32")

C = (X + 1j * rng.normal(size=X.shape)).astype("complex64")

jnp.fft.fft(C, axis=9)
# ShapeError: axis 9 is out of bounds for array of dimension 5, in the axis of fft
