import numpy as np

import olympus
from olympus.sharding import Mesh

Mesh(np.array(olympus.devices()), ("x", "y"))
# ShardingError: Mesh requires the ndim of its first argument (`devices`) to equal the length of its second argument (`axis_names`), but got devices.ndim == 1 and len(axis_names) == 2: the names are ('x', 'y')
