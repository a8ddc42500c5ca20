import numpy as np

import olympus as ox

rng = np.random.default_rng(0)

X = rng.normal(size=(3, 4, 2, 3, 2)).astype("float32")

C = (X + 1j * rng.normal(size=X.shape)).astype("complex64")

ox.lax.fft(C, "IRFFT", (4,))
# ShapeError: fft of kind IRFFT and lengths (4,) needs an operand whose last axes are (3,), and got complex64[3,4,2,3,2]
