import numpy as np

import olympus as ox

rng = np.random.default_rng(0)

X = rng.normal(size=(3, 4, 2, 3, 2)).astype("float32")

C = (X + 1j * rng.normal(size=X.shape)).astype("complex64")

ox.lax.fft(C, "IRFFT", (4,))
# ShapeError: IRFFT input shape (3, 4, 2, 3, 2) minor dimensions must be equal to (3,) for fft_lengths (4,)
