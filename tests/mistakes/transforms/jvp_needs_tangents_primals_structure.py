import numpy as np

import olympus

X = np.arange(6, dtype=np.float32).reshape(2, 3)


def twice(x):
    return 2 * x


olympus.jvp(twice, (X,), ((X,),))
# TransformError: jvp needs tangents of the primals' structure.
#   primals:  PyTreeDef((*,))
#   tangents: PyTreeDef(((*,),))
