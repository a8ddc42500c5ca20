from olympus.sharding import AbstractMesh

AbstractMesh((0,), ("x",))
# ShardingError: AbstractMesh needs axes of 1 device or more, and got (0,)
