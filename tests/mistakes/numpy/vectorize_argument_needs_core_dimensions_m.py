import olympus.numpy as jnp

jnp.vectorize(abs, signature="(m)->()")(1.0)
# ShapeError: input with shape () does not have enough dimensions for all core dimensions ('m',) on vectorized function with excluded=frozenset() and signature='(m)->()': it is argument 0
