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


jnp.matmul(values(2), values(2), precision="odd")
# ArgumentError: Precision argument must be one of: a Precision, 'default', 'fastest', 'bfloat16', 'high', 'bfloat16_3x', 'tensorfloat32', 'highest', 'float32', a pair of these, a DotAlgorithm, a DotAlgorithmPreset or its name; but got 'odd'
