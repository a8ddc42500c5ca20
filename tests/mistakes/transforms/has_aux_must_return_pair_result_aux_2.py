import olympus

olympus.value_and_grad(lambda x: x, has_aux=True)(1.0)
# TransformError: with has_aux, '<lambda>' must return a pair (result, aux), and returned float32[]
