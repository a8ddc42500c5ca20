import ml_dtypes
import numpy as np

import olympus.numpy as jnp


def values(dtype: str = "float32", shape: tuple[int, ...] = (3, 7), seed: int = 0):
    """Elements of a dtype, many of them equal."""
    rng = np.random.default_rng(seed)
    base = rng.integers(0, 5, shape)
    if dtype == "complex64":
        return (base + 1j * rng.integers(-1, 2, shape)).astype(dtype)
    return (base % 2 if dtype == "bool" else base).astype(getattr(ml_dtypes, dtype, dtype))


jnp.searchsorted(values(), 1)
# ShapeError: searchsorted needs a vector, and got float32[3,7]
