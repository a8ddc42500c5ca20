"""`olympus.scipy.signal`: convolutions, trends and spectra."""
