import numpy as np

import olympus.numpy as jnp

rng = np.random.default_rng(0)

X = rng.normal(size=(3, 4, 2, 3, 2)).astype("float32")

C = (X + 1j * rng.normal(size=X.shape)).astype("complex64")

jnp.fft.rfft(C)
# ArgumentError: only real valued inputs supported for rfft, and got complex64
