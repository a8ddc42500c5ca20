import olympus

olympus.grad(lambda x: x, 2)(1.0)
# TransformError: argnums of the derivative of '<lambda>' has 2, and it was called with 1 positional arguments
# hint: pass the selected arguments by position
