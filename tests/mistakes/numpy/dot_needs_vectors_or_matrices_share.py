import ml_dtypes
import numpy as np

import olympus as ox

jnp, lax = ox.numpy, ox.lax


def values(*shape: int, dtype: str = "float32", seed: int = 0):
    """Small numbers of a dtype, exact in products."""
    rng = np.random.default_rng(seed + sum(shape))
    x = rng.integers(-3, 4, shape) / 2
    if dtype == "complex64":
        return (x + 1j * rng.integers(-2, 3, shape)).astype(dtype)
    return x.astype(getattr(ml_dtypes, dtype, dtype))


lax.dot(values(2, 2, 2), values(2))
# ShapeError: dot needs vectors or matrices that share the contracted dimension, and got float32[2,2,2] and float32[2]
