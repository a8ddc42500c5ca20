import numpy as np

import olympus
from olympus.sharding import Mesh, NamedSharding, PartitionSpec

P = PartitionSpec

MESHED = Mesh(np.array(olympus.devices()).reshape(2, 4), ("x", "y"))

NamedSharding(MESHED, P("z"))
# ShardingError: P('z',) names the axis 'z', and the mesh has 'x', 'y' (Resource axis: z of P('z',) is not found in mesh: ('x', 'y')), at p_z_names_axis_z_mesh.py:10: NamedSharding(MESHED, P("z"))
