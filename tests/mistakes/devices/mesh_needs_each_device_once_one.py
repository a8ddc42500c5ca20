import olympus
from olympus.sharding import Mesh

Mesh([olympus.devices()[0]] * 2, ("x",))
# ShardingError: Mesh needs each device once, and got one twice
