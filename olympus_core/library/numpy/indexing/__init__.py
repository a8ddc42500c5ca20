"""Indexing, as in NumPy's manual: reading, writing, and functions that index."""
