import olympus.numpy as jnp

jnp.sum(jnp.ones(2), where=1)
# ArgumentError: sum needs a bool array as where, and got int32[]
