import olympus.numpy as jnp

jnp.fft.fftfreq(0)
# ArgumentError: fftfreq needs a window of one sample or more, and got 0
