import numpy as np

import olympus.numpy as jnp

SPECIAL = np.array([0.0, -0.0, np.nan, 1.0, -np.inf, np.inf, np.nan, -1.0], np.float32)

jnp.sort(SPECIAL, kind="heapsort")
# ArgumentError: 'kind' argument to sort is not supported: it is 'heapsort'
# hint: the sort is stable; stable=False leaves that to the target
