import numpy as np

import olympus.numpy as jnp

SPECIAL = np.array([0.0, -0.0, np.nan, 1.0, -np.inf, np.inf, np.nan, -1.0], np.float32)

jnp.sort(SPECIAL, kind="heapsort")
# TraceError: sort takes neither kind nor order, and got 'heapsort' and None
# hint: the sort is stable; stable=False leaves that to the target
