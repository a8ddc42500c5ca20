import olympus.numpy as jnp

jnp.var(jnp.ones(2), ddof=1, correction=1)
# TraceError: var takes one of ddof and correction, and got 1 and JitTracer(~int32[])
