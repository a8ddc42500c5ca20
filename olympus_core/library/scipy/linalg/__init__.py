"""`olympus.scipy.linalg`."""
