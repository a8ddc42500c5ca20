olympus cost nothing.mlir
# exit 2
# error: file nothing.mlir does not exist
