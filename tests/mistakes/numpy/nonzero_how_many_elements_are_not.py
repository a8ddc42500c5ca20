import numpy as np

import olympus as ox
import olympus.numpy as jnp

X = np.ones((2, 3), np.float32)

ox.jit(jnp.nonzero)(X)
# ConcretizationTypeError: Abstract tracer value encountered where concrete value is expected: The size argument of jnp.nonzero must be statically specified to use jnp.nonzero within transformations: the number of nonzero elements of float32[2,3] is not known while tracing, and the array is the argument 'a' of 'nonzero'
# hint: pass size=, a bound of their number, or use where with three arguments
