import numpy as np

import olympus.numpy as jnp

POINTS = np.linspace(0, 2, 9).astype("float32")

jnp.roots(POINTS[None])
# ShapeError: roots needs a vector of coefficients, and got float32[1,9]
