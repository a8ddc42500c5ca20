import numpy as np

import olympus as ox

rng = np.random.default_rng(0)

X = rng.normal(size=(3, 4, 2, 3, 2)).astype("float32")

C = (X + 1j * rng.normal(size=X.shape)).astype("complex64")

ox.lax.fft(C, "FFT", (5,))
# ShapeError: fft of kind FFT and lengths (5,) needs an operand whose last axes are (5,), and got complex64[3,4,2,3,2]
