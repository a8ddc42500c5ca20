import olympus

olympus.jit(3)
# UsageError: jit needs a function, and got 3
