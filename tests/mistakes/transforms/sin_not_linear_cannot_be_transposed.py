import numpy as np

import olympus
import olympus.numpy as jnp

X = np.arange(6, dtype=np.float32).reshape(2, 3)

olympus.linear_transpose(jnp.sin, X)(X)
# NoDerivativeError: Transpose rule (for reverse-mode differentiation) for 'sin' not implemented: it is not linear, and cannot be transposed
# at sin_not_linear_cannot_be_transposed.py:8
