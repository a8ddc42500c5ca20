import olympus.numpy as jnp

jnp.max(jnp.ones(2), where=True)
# ShapeError: max with where needs initial: max has no identity
