import olympus

olympus.value_and_grad(lambda x: x, has_aux=True)(1.0)
# TransformError: expected function with aux output to return a two-element tuple, but got type float32[]: '<lambda>' must return a pair (result, aux)
