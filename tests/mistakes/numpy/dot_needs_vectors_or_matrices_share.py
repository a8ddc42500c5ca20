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
# ShapeError: jax.lax.dot: dimension_numbers must be specified when not performing simple un-batched matrix-matrix, matrix-vector, or vector-vector products; got lhs_shape=(2, 2, 2) rhs_shape=(2,)
