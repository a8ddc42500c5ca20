"""`olympus.numpy.fft`: the frequencies of transforms, and shifts of their origin."""

from olympus_core.library.numpy.frequencies import fftfreq as fftfreq
from olympus_core.library.numpy.frequencies import fftshift as fftshift
from olympus_core.library.numpy.frequencies import ifftshift as ifftshift
from olympus_core.library.numpy.frequencies import rfftfreq as rfftfreq
