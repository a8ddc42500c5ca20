import numpy as np

import olympus as ox

rng = np.random.default_rng(0)


def matrix(*shape: int, dtype: str = "float64"):
    x = rng.normal(size=shape)
    return (x + 1j * rng.normal(size=shape) if dtype.startswith("c") else x).astype(dtype)


A, A3, C = matrix(4, 4), matrix(2, 4, 4), matrix(4, 4, dtype="complex128")

TALL, VECTOR, COLUMNS = matrix(5, 3), matrix(4), matrix(4, 2)

ox.numpy.linalg.tensorsolve(A, TALL)
# ShapeError: tensorsolve needs b of the first axes of a, and as many elements in a's other axes, and got a of shape (4, 4) and b of shape (5, 3)
