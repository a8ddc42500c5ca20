import numpy as np

import olympus
from olympus.sharding import Mesh, NamedSharding

MESHED = Mesh(np.array(olympus.devices()).reshape(2, 4), ("x", "y"))

NamedSharding(MESHED, ("x",))
# ArgumentError: NamedSharding needs a PartitionSpec, and got ('x',)
# hint: write P('axis', None), with an entry for each dimension of the array
