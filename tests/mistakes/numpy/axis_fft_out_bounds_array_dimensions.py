import numpy as np

import olympus.numpy as jnp

rng = np.random.default_rng(0)

X = rng.normal(size=(3, 4, 2, 3, 2)).astype("float32")

C = (X + 1j * rng.normal(size=X.shape)).astype("complex64")

jnp.fft.fft(C, axis=9)
# ShapeError: the axis of fft 9 is out of bounds for an array of 5 dimensions
