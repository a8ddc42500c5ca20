import numpy as np

import olympus

olympus.vmap(lambda x: x)(np.float32(1))
# TransformError: vmap was requested to map its argument along axis 0, which implies that its rank should be at least 1, but is only 0 (its shape is ()): it is argument x of '<lambda>'
# hint: pass None for it in in_axes where it is the same for every index
