import olympus.numpy as jnp

jnp.vectorize(abs, signature="(m)->()")(1.0)
# ShapeError: vectorize: argument 0 needs the core dimensions (m), and has the shape ()
