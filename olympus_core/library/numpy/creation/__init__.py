"""Array creation, as in NumPy's manual."""
