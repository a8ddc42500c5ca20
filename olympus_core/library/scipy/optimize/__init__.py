"""`olympus.scipy.optimize`: the minimum of a function."""
