"""`olympus.scipy.special`."""
