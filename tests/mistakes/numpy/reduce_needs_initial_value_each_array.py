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


lax.reduce(values(2), (0.0, 1.0), lax.add, (0,))
# ShapeError: Operands must have the same tree structure as init_values: PyTreeDef(*) vs. PyTreeDef((*, *)), in reduce
