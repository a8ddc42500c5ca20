import olympus

olympus.jacfwd(lambda x: x)(3)
# TransformError: jacfwd requires real-valued inputs (input dtype that is a sub-dtype of np.floating), but got int32: a value of '<lambda>' is int32[]
# hint: for complex derivatives pass holomorphic=True
