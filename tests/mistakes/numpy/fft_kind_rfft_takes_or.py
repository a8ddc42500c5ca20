import numpy as np

import olympus.numpy as jnp

jnp.fft.rfft(np.ones(4, "float16"))
# DTypeError: fft of kind RFFT takes float32 or float64, and got float16[4]
# at fft_kind_rfft_takes_or.py:5
