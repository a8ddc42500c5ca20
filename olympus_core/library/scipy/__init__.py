"""`olympus.scipy`: functions of SciPy on arrays, in its folders."""
