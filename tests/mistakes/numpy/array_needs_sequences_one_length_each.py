import olympus.numpy as jnp

jnp.array([[1], [2, 3]])
# ShapeError: array needs sequences of one length at each depth: setting an array element with a sequence. The requested array has an inhomogeneous shape after 1 dimensions. The detected shape was (2,) + inhomogeneous part.
