import olympus.numpy as jnp

jnp.vectorize(abs, signature="(m->()")
# ArgumentError: '(m->()' is not a signature of vectorize
# hint: write one such as '(m,n),(n)->(m)'
