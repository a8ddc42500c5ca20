"""`olympus.numpy.fft`, which is imported when it is used."""
