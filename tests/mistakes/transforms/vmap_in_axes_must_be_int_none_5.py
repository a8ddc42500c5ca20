import olympus

olympus.vmap(lambda x: x, in_axes="0")
# TransformError: vmap in_axes must be an int, None, or a tuple of entries corresponding to the positional arguments passed to the function, but got 0
