import olympus

olympus.grad(lambda x: (x, x))(1.0)
# TransformError: grad needs a function that returns one scalar, and '<lambda>' returned PyTreeDef((*, *))
# hint: return (scalar, rest) and pass has_aux=True to get other results out
