import olympus


def twice(x):
    return 2 * x


olympus.vmap(twice)("text")
# TransformError: Argument 'text' of type <class 'str'> is not a valid JAX type: vmap of 'twice' needs arrays and scalars, and argument x is a str 'text'
# hint: pass None for it in in_axes where it is the same for every index
