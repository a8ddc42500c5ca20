"""`olympus.scipy.stats`."""
