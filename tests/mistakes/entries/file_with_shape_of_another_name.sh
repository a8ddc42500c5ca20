olympus cost matrix.mlir --shapes x=f32[3]
# exit 2
# error: the program has no argument 'x'
# hint: its arguments are arg0
