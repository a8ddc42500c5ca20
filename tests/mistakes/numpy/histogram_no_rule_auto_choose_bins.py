import numpy as np

import olympus.numpy as jnp

X = np.array([0.5, 2.0, -1.0, 3.5, 3.5, 0.0], "float32")

jnp.histogram(X, "auto")
# UnsupportedError: string values for `bins` not implemented: histogram has no rule 'auto' to choose bins
# hint: pass the number of bins
