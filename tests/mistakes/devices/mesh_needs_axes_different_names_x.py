import numpy as np

import olympus
from olympus.sharding import Mesh

MESHED = Mesh(np.array(olympus.devices()).reshape(2, 4), ("x", "y"))

Mesh(MESHED.devices, ("x", "x"))
# ShardingError: Mesh needs axes of different names, and got ('x', 'x')
