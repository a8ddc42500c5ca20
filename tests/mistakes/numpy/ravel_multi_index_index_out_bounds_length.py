import olympus.numpy as jnp

jnp.ravel_multi_index((9,), (2,))
# ArgumentError: ravel_multi_index got an index out of bounds for length 2
