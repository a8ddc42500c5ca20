import olympus.numpy as jnp

jnp.meshgrid(jnp.ones(2), indexing="ji")
# ArgumentError: meshgrid takes indexing 'xy' or 'ij', and got 'ji'
