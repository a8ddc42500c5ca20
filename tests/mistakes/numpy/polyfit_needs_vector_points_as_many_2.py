import numpy as np

import olympus.numpy as jnp

POINTS = np.linspace(0, 2, 9).astype("float32")

VALUES = np.sin(3 * POINTS)

jnp.polyfit(POINTS[:0], VALUES[:0], 1)
# ShapeError: polyfit needs a vector of points, and as many values or rows of values, and got float32[0] and float32[0]
