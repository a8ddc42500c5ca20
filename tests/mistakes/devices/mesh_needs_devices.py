from olympus.sharding import Mesh

Mesh([1, 2], ("x",))
# ShardingError: Mesh needs devices, and got 1
# hint: pass those of olympus.devices(), or use olympus.make_mesh
