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


lax.conv_general_dilated(values(1, 2, 5), values(3, 2, 2), (1,), "SAME", (2,))
# ShapeError: String padding is not implemented for transposed convolution using this op. Please either exactly specify the required padding or use conv_transpose. The padding is 'SAME', and lhs_dilation is (2,)
