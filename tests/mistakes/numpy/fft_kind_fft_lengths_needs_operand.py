import numpy as np

import olympus as ox

rng = np.random.default_rng(0)

X = rng.normal(size=(3, 4, 2, 3, 2)).astype("float32")

C = (X + 1j * rng.normal(size=X.shape)).astype("complex64")

ox.lax.fft(C, "FFT", (5,))
# ShapeError: FFT input shape (3, 4, 2, 3, 2) minor dimensions must be equal to fft_lengths (5,)
