import numpy as np

import olympus as ox

rng = np.random.default_rng(0)


def matrix(*shape: int, dtype: str = "float64"):
    x = rng.normal(size=shape)
    return (x + 1j * rng.normal(size=shape) if dtype.startswith("c") else x).astype(dtype)


TALL, VECTOR, COLUMNS = matrix(5, 3), matrix(4), matrix(4, 2)

ox.numpy.linalg.cholesky(TALL)
# ShapeError: The input to cholesky must be a square matrix. Got shape (5, 3).
