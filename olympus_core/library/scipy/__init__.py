"""`olympus.scipy`: functions of SciPy on arrays, a module a subject."""
