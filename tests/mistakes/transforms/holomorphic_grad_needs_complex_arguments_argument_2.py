import olympus

olympus.grad(lambda x: x, holomorphic=True)(1.0)
# TransformError: grad with holomorphic=True requires inputs with complex dtype, but got float32: argument x of '<lambda>' is float32[]
