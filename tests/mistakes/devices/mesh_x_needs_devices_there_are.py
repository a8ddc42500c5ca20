import olympus

olympus.make_mesh((4, 4), ("x", "y"))
# ShardingError: a mesh of 4 x 4 needs 16 devices, and there are 8: Number of devices 8 must be >= the product of mesh_shape (4, 4)
# hint: put OLYMPUS_NUM_CPU_DEVICES=16 before the command, and the CPU has as many devices
