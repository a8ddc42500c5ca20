import numpy as np

import olympus
from olympus.sharding import Mesh

Mesh(np.array(olympus.devices()), ("x", "y"))
# ShardingError: Mesh requires the ndim of its first argument to equal the length of its second argument (`axis_names`), but got 1 dimensions and 2 names: ('x', 'y')
