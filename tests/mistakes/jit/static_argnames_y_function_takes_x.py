import olympus

olympus.jit(lambda x: x, static_argnames="y")
# OptionError: Jitted function has invalid argnames {'y'} in static_argnames. Function does not take these args: it takes x
