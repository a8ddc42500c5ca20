import numpy as np

import olympus as ox
import olympus.numpy as jnp

N = np.array([0, 2, 2, 5, 1, 2], "int32")

ox.jit(jnp.bincount)(N)
# ConcretizationTypeError: Abstract tracer value encountered where concrete value is expected: bincount cannot know the shape of its result: the array is the argument 'x' of 'bincount'
# hint: pass length=, one more than the largest element
