from olympus.sharding import NamedSharding, PartitionSpec

P = PartitionSpec

NamedSharding("x", P())
# ArgumentError: NamedSharding needs a Mesh, and got 'x'
