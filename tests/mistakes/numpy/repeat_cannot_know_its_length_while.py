import numpy as np

import olympus as ox
import olympus.numpy as jnp

X = np.ones((2, 3), np.float32)

ox.jit(lambda r: jnp.repeat(X, r))(2)
# ConcretizationTypeError: Abstract tracer value encountered where concrete value is expected: When jit-compiling jnp.repeat, the total number of repeats must be static: `repeats` is the argument 'r' of '<lambda>'
# hint: pass total_repeat_length=, or make `repeats` static
