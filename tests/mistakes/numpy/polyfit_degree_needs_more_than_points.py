import numpy as np

import olympus.numpy as jnp

POINTS = np.linspace(0, 2, 9).astype("float32")

VALUES = np.sin(3 * POINTS)

jnp.polyfit(POINTS[:2], VALUES[:2], 1, cov=True)
# ShapeError: polyfit of degree 1 needs more than 2 points to scale the covariance, and got 2
