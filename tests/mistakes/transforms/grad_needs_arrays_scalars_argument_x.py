import olympus

olympus.grad(lambda x: x)("text")
# TransformError: Argument 'text' of type <class 'str'> is not a valid JAX type: grad of '<lambda>' needs arrays and scalars, and argument x is a str 'text'
