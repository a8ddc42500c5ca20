import olympus

olympus.grad(lambda n: n * 1.0)(3)
# TransformError: grad of '<lambda>' needs float or complex arguments, and argument 'n' is int32[]
# hint: cast it to a float, select others by argnums, or pass allow_int=True
