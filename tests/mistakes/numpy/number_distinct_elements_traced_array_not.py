import numpy as np

import olympus as ox
import olympus.numpy as jnp

SPECIAL = np.array([0.0, -0.0, np.nan, 1.0, -np.inf, np.inf, np.nan, -1.0], np.float32)

ox.jit(jnp.unique)(SPECIAL)
# ConcretizationTypeError: Abstract tracer value encountered where concrete value is expected: The error arose for the first argument of jnp.unique(): the number of distinct elements of a traced array float32[8] is not known
# hint: pass size=n, the number of elements to return
