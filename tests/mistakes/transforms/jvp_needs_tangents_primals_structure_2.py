import numpy as np

import olympus

X = np.array([0.3, -0.7, 1.1], np.float32)

olympus.jvp(lambda x: x, (X,), (X, X))
# TransformError: primal and tangent arguments to jax.jvp must have the same tree structure; primals have tree structure PyTreeDef((*,)) whereas tangents have tree structure PyTreeDef((*, *))
