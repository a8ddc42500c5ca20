"""`olympus.scipy.fft`: discrete cosine transforms."""

from olympus_core.library.scipy.fft import dct as dct
from olympus_core.library.scipy.fft import dctn as dctn
from olympus_core.library.scipy.fft import idct as idct
from olympus_core.library.scipy.fft import idctn as idctn
