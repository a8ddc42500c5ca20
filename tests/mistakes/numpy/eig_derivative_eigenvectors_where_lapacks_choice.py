import numpy as np

import olympus as ox

rng = np.random.default_rng(0)


def matrix(*shape: int, dtype: str = "float64"):
    x = rng.normal(size=shape)
    return (x + 1j * rng.normal(size=shape) if dtype.startswith("c") else x).astype(dtype)


A, A3, C = matrix(4, 4), matrix(2, 4, 4), matrix(4, 4, dtype="complex128")

ox.grad(lambda x: ox.numpy.linalg.eig(x)[1].real.sum())(A)
# NoDerivativeError: Derivatives of non-symmetric eigenvectors are only valid under assumptions on the input that cannot be checked: eig has one where LAPACK's choice of their factors is smooth, and so only on request
# hint: pass enable_eigvec_derivs=True, or use eigvals, or eigh if it is Hermitian
