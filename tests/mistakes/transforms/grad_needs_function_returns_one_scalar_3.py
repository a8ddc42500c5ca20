import olympus

olympus.grad(lambda x: (x, x))(1.0)
# TransformError: Gradient only defined for scalar-output functions. Output was (1.0, 1.0): '<lambda>' returned PyTreeDef((*, *))
# hint: return (scalar, rest) and pass has_aux=True to get other results out
