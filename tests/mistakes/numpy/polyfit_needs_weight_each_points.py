import numpy as np

import olympus.numpy as jnp

POINTS = np.linspace(0, 2, 9).astype("float32")

VALUES = np.sin(3 * POINTS)

jnp.polyfit(POINTS, VALUES, 1, w=VALUES[:2])
# ShapeError: polyfit needs a weight for each of 9 points, and got float32[2]
