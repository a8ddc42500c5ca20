"""`olympus.numpy.fft`: discrete Fourier transforms, and their frequencies."""

from olympus_core.library.numpy.fourier import fft as fft
from olympus_core.library.numpy.fourier import fft2 as fft2
from olympus_core.library.numpy.fourier import fftn as fftn
from olympus_core.library.numpy.fourier import hfft as hfft
from olympus_core.library.numpy.fourier import ifft as ifft
from olympus_core.library.numpy.fourier import ifft2 as ifft2
from olympus_core.library.numpy.fourier import ifftn as ifftn
from olympus_core.library.numpy.fourier import ihfft as ihfft
from olympus_core.library.numpy.fourier import irfft as irfft
from olympus_core.library.numpy.fourier import irfft2 as irfft2
from olympus_core.library.numpy.fourier import irfftn as irfftn
from olympus_core.library.numpy.fourier import rfft as rfft
from olympus_core.library.numpy.fourier import rfft2 as rfft2
from olympus_core.library.numpy.fourier import rfftn as rfftn
from olympus_core.library.numpy.frequencies import fftfreq as fftfreq
from olympus_core.library.numpy.frequencies import fftshift as fftshift
from olympus_core.library.numpy.frequencies import ifftshift as ifftshift
from olympus_core.library.numpy.frequencies import rfftfreq as rfftfreq
