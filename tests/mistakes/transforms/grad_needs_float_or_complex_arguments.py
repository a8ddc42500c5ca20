import olympus

olympus.grad(lambda n: n * 1.0)(3)
# TransformError: grad requires real- or complex-valued inputs (input dtype that is a sub-dtype of np.inexact), but got int32. If you want to use Boolean- or integer-valued inputs, use vjp or set allow_int to True. Here argument n of '<lambda>' is int32[]
# hint: cast it to a float, select others by argnums, or pass allow_int=True
