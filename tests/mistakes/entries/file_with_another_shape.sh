olympus cost matrix.mlir --shapes f32[3]
# exit 2
# error: argument 'arg0' has the type tensor<8x8xf32>, and got f32[3]
