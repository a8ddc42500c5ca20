import olympus.numpy as jnp

jnp.vectorize(abs, excluded={-1})
# ArgumentError: vectorize needs positions >= 0 and names as excluded, and got {-1}
