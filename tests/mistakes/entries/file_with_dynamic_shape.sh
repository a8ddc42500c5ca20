olympus cost rows.mlir
# exit 2
# error: argument 'arg0' has the dynamic shape tensor<?x8xf32>, and no shape is given
# hint: give its shape: --shapes "arg0=f32[8,8]"
