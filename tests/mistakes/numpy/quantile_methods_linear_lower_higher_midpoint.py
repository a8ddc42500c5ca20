import olympus.numpy as jnp

jnp.quantile(jnp.ones(3), 0.5, method="odd")
# ArgumentError: quantile has the methods linear, lower, higher, midpoint, nearest, inverted_cdf, and got 'odd'
