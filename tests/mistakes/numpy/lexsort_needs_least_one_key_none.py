import olympus.numpy as jnp

jnp.lexsort(())
# ShapeError: lexsort needs at least one key, and got none
