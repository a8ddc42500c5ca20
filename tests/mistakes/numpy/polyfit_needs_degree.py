import numpy as np

import olympus.numpy as jnp

POINTS = np.linspace(0, 2, 9).astype("float32")

VALUES = np.sin(3 * POINTS)

jnp.polyfit(POINTS, VALUES, -1)
# ArgumentError: polyfit needs a degree >= 0, and got -1
