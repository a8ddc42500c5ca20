import numpy as np

import olympus.numpy as jnp

X = np.arange(24, dtype=np.float32).reshape(2, 3, 4)

jnp.vectorize(abs, signature="(m)->()")(X)
# ShapeError: vectorize: result 0 needs the core dimensions (), and has the shape (4,)
