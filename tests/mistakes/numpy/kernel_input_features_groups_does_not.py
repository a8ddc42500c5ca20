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


lax.conv(values(1, 2, 5), values(3, 4, 2), (1,), "SAME")
# ShapeError: conv_general_dilated lhs feature dimension size divided by feature_group_count must equal the rhs input feature dimension size, but 2 // 1 != 4 (of float32[1,2,5] and float32[3,4,2]).
