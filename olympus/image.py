"""`olympus.image`: images in another size, and moved, by resampling kernels."""

from olympus_core.library.image import ResizeMethod as ResizeMethod
from olympus_core.library.image import resize as resize
from olympus_core.library.image import scale_and_translate as scale_and_translate
