import olympus

olympus.jit(lambda x: x, static_argnums=3)
# OptionError: Jitted function has static_argnums=(3,), but only accepts 1 positional arguments
