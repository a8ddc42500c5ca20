import numpy as np

import olympus.numpy as jnp

rng = np.random.default_rng(0)

X = rng.normal(size=(3, 4, 2, 3, 2)).astype("float32")

C = (X + 1j * rng.normal(size=X.shape)).astype("complex64")

jnp.fft.fftn(C, s=(3,), axes=(0, 1))
# ShapeError: fftn got 1 lengths for 2 axes
