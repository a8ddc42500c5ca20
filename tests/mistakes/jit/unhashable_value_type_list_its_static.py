import numpy as np

import olympus

X = np.arange(3.0, dtype=np.float32)

olympus.jit(lambda x, n: x, static_argnums=1)(X, [1])
# StaticError: Non-hashable static arguments are not supported. An error occurred while trying to hash an object of type <class 'list'>, [1]: it is the static argument 1 of '<lambda>' (unhashable type: 'list')
# hint: pass a tuple for a list, or a frozen dataclass for a dict
