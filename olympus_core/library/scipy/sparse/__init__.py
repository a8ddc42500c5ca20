"""`olympus.scipy.sparse.linalg`: linear equations by Krylov methods."""
