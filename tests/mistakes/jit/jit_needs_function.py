import olympus

olympus.jit(3)
# OptionError: Expected a callable value, got 3: jit needs a function
