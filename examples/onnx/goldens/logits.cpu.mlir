module @jit_digits attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<8x1x3x3xf32>, %arg1: tensor<8xf32>, %arg2: tensor<8xf32>, %arg3: tensor<8xf32>, %arg4: tensor<8xf32>, %arg5: tensor<16x8x3x3xf32>, %arg6: tensor<16xf32>, %arg7: tensor<16xf32>, %arg8: tensor<16xf32>, %arg9: tensor<16xf32>, %arg10: tensor<10xf32>, %arg11: tensor<10x784xf32>, %arg12: tensor<8x1x28x28xf32>) -> (tensor<8x10xf32> {olympus.result_info = "result"}) {
    %0 = stablehlo.convolution(%arg12, %arg0) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {stride = [1, 1], pad = [[1, 1], [1, 1]], lhs_dilate = [1, 1], rhs_dilate = [1, 1]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]} : (tensor<8x1x28x28xf32>, tensor<8x1x3x3xf32>) -> tensor<8x8x28x28xf32>
    %cst = stablehlo.constant dense<9.99999974E-6> : tensor<8xf32>
    %1 = stablehlo.add %arg4, %cst : tensor<8xf32>
    %2 = stablehlo.sqrt %1 : tensor<8xf32>
    %3 = stablehlo.divide %arg2, %2 : tensor<8xf32>
    %4 = stablehlo.reshape %arg1 : (tensor<8xf32>) -> tensor<8x1x1xf32>
    %5 = stablehlo.broadcast_in_dim %4, dims = [1, 2, 3] : (tensor<8x1x1xf32>) -> tensor<8x8x28x28xf32>
    %6 = stablehlo.subtract %0, %5 : tensor<8x8x28x28xf32>
    %7 = stablehlo.reshape %3 : (tensor<8xf32>) -> tensor<8x1x1xf32>
    %8 = stablehlo.broadcast_in_dim %7, dims = [1, 2, 3] : (tensor<8x1x1xf32>) -> tensor<8x8x28x28xf32>
    %9 = stablehlo.multiply %6, %8 : tensor<8x8x28x28xf32>
    %10 = stablehlo.reshape %arg3 : (tensor<8xf32>) -> tensor<8x1x1xf32>
    %11 = stablehlo.broadcast_in_dim %10, dims = [1, 2, 3] : (tensor<8x1x1xf32>) -> tensor<8x8x28x28xf32>
    %12 = stablehlo.add %9, %11 : tensor<8x8x28x28xf32>
    %cst_0 = stablehlo.constant dense<0.000000e+00> : tensor<8x8x28x28xf32>
    %13 = stablehlo.maximum %12, %cst_0 : tensor<8x8x28x28xf32>
    %cst_1 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %14 = "stablehlo.reduce_window"(%13, %cst_1) <{base_dilations = array<i64: 1, 1, 1, 1>, padding = dense<0> : tensor<4x2xi64>, window_dilations = array<i64: 1, 1, 1, 1>, window_dimensions = array<i64: 1, 1, 2, 2>, window_strides = array<i64: 1, 1, 2, 2>}> ({
    ^bb0(%arg13: tensor<f32>, %arg14: tensor<f32>):
      %35 = stablehlo.maximum %arg13, %arg14 : tensor<f32>
      stablehlo.return %35 : tensor<f32>
    }) : (tensor<8x8x28x28xf32>, tensor<f32>) -> tensor<8x8x14x14xf32>
    %15 = stablehlo.convolution(%14, %arg5) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {stride = [1, 1], pad = [[1, 1], [1, 1]], lhs_dilate = [1, 1], rhs_dilate = [1, 1]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]} : (tensor<8x8x14x14xf32>, tensor<16x8x3x3xf32>) -> tensor<8x16x14x14xf32>
    %cst_2 = stablehlo.constant dense<9.99999974E-6> : tensor<16xf32>
    %16 = stablehlo.add %arg9, %cst_2 : tensor<16xf32>
    %17 = stablehlo.sqrt %16 : tensor<16xf32>
    %18 = stablehlo.divide %arg7, %17 : tensor<16xf32>
    %19 = stablehlo.reshape %arg6 : (tensor<16xf32>) -> tensor<16x1x1xf32>
    %20 = stablehlo.broadcast_in_dim %19, dims = [1, 2, 3] : (tensor<16x1x1xf32>) -> tensor<8x16x14x14xf32>
    %21 = stablehlo.subtract %15, %20 : tensor<8x16x14x14xf32>
    %22 = stablehlo.reshape %18 : (tensor<16xf32>) -> tensor<16x1x1xf32>
    %23 = stablehlo.broadcast_in_dim %22, dims = [1, 2, 3] : (tensor<16x1x1xf32>) -> tensor<8x16x14x14xf32>
    %24 = stablehlo.multiply %21, %23 : tensor<8x16x14x14xf32>
    %25 = stablehlo.reshape %arg8 : (tensor<16xf32>) -> tensor<16x1x1xf32>
    %26 = stablehlo.broadcast_in_dim %25, dims = [1, 2, 3] : (tensor<16x1x1xf32>) -> tensor<8x16x14x14xf32>
    %27 = stablehlo.add %24, %26 : tensor<8x16x14x14xf32>
    %cst_3 = stablehlo.constant dense<0.000000e+00> : tensor<8x16x14x14xf32>
    %28 = stablehlo.maximum %27, %cst_3 : tensor<8x16x14x14xf32>
    %29 = "stablehlo.reduce_window"(%28, %cst_1) <{base_dilations = array<i64: 1, 1, 1, 1>, padding = dense<0> : tensor<4x2xi64>, window_dilations = array<i64: 1, 1, 1, 1>, window_dimensions = array<i64: 1, 1, 2, 2>, window_strides = array<i64: 1, 1, 2, 2>}> ({
    ^bb0(%arg13: tensor<f32>, %arg14: tensor<f32>):
      %35 = stablehlo.maximum %arg13, %arg14 : tensor<f32>
      stablehlo.return %35 : tensor<f32>
    }) : (tensor<8x16x14x14xf32>, tensor<f32>) -> tensor<8x16x7x7xf32>
    %30 = stablehlo.reshape %29 : (tensor<8x16x7x7xf32>) -> tensor<8x784xf32>
    %31 = stablehlo.transpose %arg11, dims = [1, 0] : (tensor<10x784xf32>) -> tensor<784x10xf32>
    %32 = stablehlo.dot_general %30, %31, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<8x784xf32>, tensor<784x10xf32>) -> tensor<8x10xf32>
    %33 = stablehlo.broadcast_in_dim %arg10, dims = [1] : (tensor<10xf32>) -> tensor<8x10xf32>
    %34 = stablehlo.add %32, %33 : tensor<8x10xf32>
    return %34 : tensor<8x10xf32>
  }
}
