import numpy as np

import olympus as ox

rng = np.random.default_rng(0)

X = rng.normal(size=(3, 4, 2, 3, 2)).astype("float32")

C = (X + 1j * rng.normal(size=X.shape)).astype("complex64")

ox.lax.fft(C, "FFT", C.shape[1:])
# ShapeError: fft transforms the last 1 to 3 axes, and got 4 lengths for complex64[3,4,2,3,2]
