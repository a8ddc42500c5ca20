olympus shard matrix.mlir --mesh data=2
# exit 2
# error: shard takes a Python function, and matrix.mlir is a file
# hint: a file has a program for one device
