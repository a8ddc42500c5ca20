olympus cost matrix.mlir --static n=3
# exit 2
# error: static is for a Python function, and matrix.mlir is a file
