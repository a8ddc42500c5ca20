import olympus

olympus.grad(lambda x: x, 2)(1.0)
# TransformError: differentiating with respect to argnums=2 requires at least 3 positional arguments to be passed by the caller, but got only 1 positional arguments for '<lambda>'
# hint: pass the selected arguments by position
