olympus cost matrix.mlir:forward
# exit 2
# error: matrix.mlir has no function 'forward'
# hint: its functions are main
