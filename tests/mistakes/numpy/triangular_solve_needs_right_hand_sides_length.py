import numpy as np

import olympus as ox

rng = np.random.default_rng(0)


def matrix(*shape: int, dtype: str = "float64"):
    x = rng.normal(size=shape)
    return (x + 1j * rng.normal(size=shape) if dtype.startswith("c") else x).astype(dtype)


A, A3, C = matrix(4, 4), matrix(2, 4, 4), matrix(4, 4, dtype="complex128")

TALL, VECTOR, COLUMNS = matrix(5, 3), matrix(4), matrix(4, 2)

ox.lax.linalg.triangular_solve(A, TALL)
# ShapeError: triangular_solve of float32[4,4] needs right-hand sides of length 4 along axis -1, and got float32[5,3]
