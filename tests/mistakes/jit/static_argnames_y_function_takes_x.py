import olympus

olympus.jit(lambda x: x, static_argnames="y")
# UsageError: static_argnames has 'y', and the function takes x
