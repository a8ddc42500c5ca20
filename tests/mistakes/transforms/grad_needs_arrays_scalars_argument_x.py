import olympus

olympus.grad(lambda x: x)("text")
# TransformError: grad of '<lambda>' needs arrays and scalars, and argument 'x' is a str 'text'
