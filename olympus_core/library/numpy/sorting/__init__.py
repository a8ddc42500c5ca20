"""Sorting, searching and sets, as in NumPy's manual."""
