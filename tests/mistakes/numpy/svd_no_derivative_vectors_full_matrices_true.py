import numpy as np

import olympus as ox

rng = np.random.default_rng(0)


def matrix(*shape: int, dtype: str = "float64"):
    x = rng.normal(size=shape)
    return (x + 1j * rng.normal(size=shape) if dtype.startswith("c") else x).astype(dtype)


TALL, VECTOR, COLUMNS = matrix(5, 3), matrix(4), matrix(4, 2)

ox.grad(lambda x: ox.numpy.linalg.svd(x)[0].sum())(TALL)
# NoDerivativeError: svd has no derivative for the vectors that full_matrices=True adds to matrices that are not square, here 5 x 3
# hint: pass full_matrices=False, or compute_uv=False
