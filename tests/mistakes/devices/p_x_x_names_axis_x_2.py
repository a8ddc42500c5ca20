import numpy as np

import olympus
from olympus.sharding import Mesh, NamedSharding, PartitionSpec

P = PartitionSpec

MESHED = Mesh(np.array(olympus.devices()).reshape(2, 4), ("x", "y"))

NamedSharding(MESHED, P(("x", "x")))
# ShardingError: A single NamedSharding spec specification can map every mesh axis to at most one positional dimension, but P(('x', 'x'),) has duplicate entries for `x`, at p_x_x_names_axis_x_2.py:10: NamedSharding(MESHED, P(("x", "x")))
