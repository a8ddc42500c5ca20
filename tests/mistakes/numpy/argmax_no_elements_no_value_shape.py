import olympus.numpy as jnp

jnp.argmax(jnp.zeros(0))
# ShapeError: attempt to get argmax of an empty sequence: the shape is (0,)
