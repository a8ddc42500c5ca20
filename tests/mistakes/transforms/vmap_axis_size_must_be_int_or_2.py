import olympus

olympus.vmap(lambda: 1.0, axis_size=-1)()
# TransformError: vmap: axis_size must be an int >= 0 or None, and is -1
