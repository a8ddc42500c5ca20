import olympus

olympus.vmap(lambda x: x, in_axes="0")
# TransformError: vmap: in_axes must be an int, None or a tuple, and is '0'
