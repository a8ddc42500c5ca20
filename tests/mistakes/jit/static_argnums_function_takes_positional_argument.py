import olympus

olympus.jit(lambda x: x, static_argnums=3)
# UsageError: static_argnums has 3, and the function takes 1 positional argument
