import olympus.numpy as jnp

jnp.sum(jnp.ones(3), out=jnp.ones(3))
# UnsupportedError: sum does not take 'out': arrays cannot be written to
# hint: use the result
