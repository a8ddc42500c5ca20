import olympus

olympus.jacfwd(lambda x: x)(3)
# TransformError: jacfwd requires real-valued inputs (input dtype that is a sub-dtype of np.floating), but got int32. For holomorphic differentiation, pass holomorphic=True. For differentiation of non-holomorphic functions involving complex inputs or integer inputs, use jax.jvp directly. Here a value of '<lambda>' is int32[]
