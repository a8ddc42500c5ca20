import numpy as np

import olympus
from olympus.sharding import Mesh

Mesh(np.array(olympus.devices()), ("x", "y"))
# ShardingError: Mesh needs a name for each of its 1 dimensions, and got 2: ('x', 'y')
