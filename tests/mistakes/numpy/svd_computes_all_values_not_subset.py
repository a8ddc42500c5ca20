import numpy as np

import olympus as ox

rng = np.random.default_rng(0)


def matrix(*shape: int, dtype: str = "float64"):
    x = rng.normal(size=shape)
    return (x + 1j * rng.normal(size=shape) if dtype.startswith("c") else x).astype(dtype)


A, A3, C = matrix(4, 4), matrix(2, 4, 4), matrix(4, 4, dtype="complex128")

ox.lax.linalg.svd(A, subset_by_index=(0, 2))
# UnsupportedError: subset_by_index not supported: svd computes all 4 values, and not the subset (0, 2)
