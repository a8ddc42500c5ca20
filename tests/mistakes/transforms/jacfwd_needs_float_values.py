import olympus

olympus.jacfwd(lambda x: x)(3)
# TransformError: jacfwd of '<lambda>' needs float values, and got int32[]
# hint: for complex derivatives pass holomorphic=True
