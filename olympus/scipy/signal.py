"""`olympus.scipy.signal`: convolutions, trends and spectra."""

from olympus_core.library.scipy.signal.convolution import convolve as convolve
from olympus_core.library.scipy.signal.convolution import convolve2d as convolve2d
from olympus_core.library.scipy.signal.convolution import correlate as correlate
from olympus_core.library.scipy.signal.convolution import correlate2d as correlate2d
from olympus_core.library.scipy.signal.convolution import fftconvolve as fftconvolve
from olympus_core.library.scipy.signal.inverse import istft as istft
from olympus_core.library.scipy.signal.spectra import csd as csd
from olympus_core.library.scipy.signal.spectra import stft as stft
from olympus_core.library.scipy.signal.spectra import welch as welch
from olympus_core.library.scipy.signal.trends import detrend as detrend
