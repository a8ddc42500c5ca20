import olympus.numpy as jnp

jnp.linspace(0, 1, -1)
# ArgumentError: linspace needs a number of samples >= 0, and got -1
