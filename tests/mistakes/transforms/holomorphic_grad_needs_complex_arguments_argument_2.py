import olympus

olympus.grad(lambda x: x, holomorphic=True)(1.0)
# TransformError: with holomorphic, grad of '<lambda>' needs complex arguments, and argument 'x' is float32[]
