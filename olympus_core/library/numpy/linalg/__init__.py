"""`olympus.numpy.linalg`, which is imported when it is used."""
