import numpy as np

import olympus

olympus.vmap(lambda x: x)(np.float32(1))
# TransformError: vmap: argument 'x' is float32[], and has no axis 0 to map over
# hint: pass None for it in in_axes where it is the same for every index
