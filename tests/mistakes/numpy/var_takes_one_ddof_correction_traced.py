import olympus.numpy as jnp

jnp.var(jnp.ones(2), ddof=1, correction=1)
# ArgumentError: ddof and correction can't be provided simultaneously: var takes one of them, and got 1 and JitTracer(~int32[])
