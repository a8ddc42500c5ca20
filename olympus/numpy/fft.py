"""`olympus.numpy.fft`: discrete Fourier transforms, and their frequencies."""

from olympus_core.library.numpy.fft.frequencies import fftfreq as fftfreq
from olympus_core.library.numpy.fft.frequencies import fftshift as fftshift
from olympus_core.library.numpy.fft.frequencies import ifftshift as ifftshift
from olympus_core.library.numpy.fft.frequencies import rfftfreq as rfftfreq
from olympus_core.library.numpy.fft.transforms import fft as fft
from olympus_core.library.numpy.fft.transforms import fft2 as fft2
from olympus_core.library.numpy.fft.transforms import fftn as fftn
from olympus_core.library.numpy.fft.transforms import hfft as hfft
from olympus_core.library.numpy.fft.transforms import ifft as ifft
from olympus_core.library.numpy.fft.transforms import ifft2 as ifft2
from olympus_core.library.numpy.fft.transforms import ifftn as ifftn
from olympus_core.library.numpy.fft.transforms import ihfft as ihfft
from olympus_core.library.numpy.fft.transforms import irfft as irfft
from olympus_core.library.numpy.fft.transforms import irfft2 as irfft2
from olympus_core.library.numpy.fft.transforms import irfftn as irfftn
from olympus_core.library.numpy.fft.transforms import rfft as rfft
from olympus_core.library.numpy.fft.transforms import rfft2 as rfft2
from olympus_core.library.numpy.fft.transforms import rfftn as rfftn
