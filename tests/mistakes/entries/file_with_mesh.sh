olympus shard matrix.mlir --mesh data=2
# exit 2
# error: shard takes a Python function, and matrix.mlir is a file
# hint: give the entry of the function that the file was written from
