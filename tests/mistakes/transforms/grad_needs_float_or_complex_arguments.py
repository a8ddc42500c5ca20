import olympus

olympus.grad(lambda n: n * 1.0)(3)
# TransformError: grad requires real- or complex-valued inputs (input dtype that is a sub-dtype of np.inexact), but got int32: argument n of '<lambda>' is int32[]
# hint: cast it to a float, select others by argnums, or pass allow_int=True
