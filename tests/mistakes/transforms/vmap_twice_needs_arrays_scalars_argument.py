import olympus


def twice(x):
    return 2 * x


olympus.vmap(twice)("text")
# TransformError: vmap of 'twice' needs arrays and scalars, and argument 'x' is a str 'text'
# hint: pass None for it in in_axes where it is the same for every index
