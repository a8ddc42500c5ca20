import olympus.numpy as jnp

jnp.clip(1j, 0, 1)
# ArgumentError: Clip received a complex value, and complex values have no order
# hint: clip the parts, x.real and x.imag
