import numpy as np

import olympus as ox

rng = np.random.default_rng(0)


def matrix(*shape: int, dtype: str = "float64"):
    x = rng.normal(size=shape)
    return (x + 1j * rng.normal(size=shape) if dtype.startswith("c") else x).astype(dtype)


A, A3, C = matrix(4, 4), matrix(2, 4, 4), matrix(4, 4, dtype="complex128")

ox.lax.linalg.lu(A.astype("float16"))
# UnsupportedError: Unsupported dtype float16: lu needs arrays of one dtype of float32, float64, complex64, complex128, and got float16[4,4]
# hint: convert the operands to float32 first
