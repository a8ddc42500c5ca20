module @jit_digits attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<8x1x3x3xf32>, %arg1: tensor<8xf32>, %arg2: tensor<8xf32>, %arg3: tensor<8xf32>, %arg4: tensor<8xf32>, %arg5: tensor<16x8x3x3xf32>, %arg6: tensor<16xf32>, %arg7: tensor<16xf32>, %arg8: tensor<16xf32>, %arg9: tensor<16xf32>, %arg10: tensor<10xf32>, %arg11: tensor<10x784xf32>, %arg12: tensor<8x1x28x28xf32>) -> (tensor<8x10xf32> {olympus.result_info = "result"}) {
    %0 = stablehlo.reshape %arg12 : (tensor<8x1x28x28xf32>) -> tensor<8x28x28x1xf32>
    %1 = stablehlo.transpose %arg0, dims = [2, 3, 1, 0] : (tensor<8x1x3x3xf32>) -> tensor<3x3x1x8xf32>
    %2 = call @narrow_convolution(%0, %1) : (tensor<8x28x28x1xf32>, tensor<3x3x1x8xf32>) -> tensor<8x28x28x8xf32>
    %cst = stablehlo.constant dense<9.99999974E-6> : tensor<8xf32>
    %3 = stablehlo.add %arg4, %cst : tensor<8xf32>
    %4 = stablehlo.sqrt %3 : tensor<8xf32>
    %5 = stablehlo.divide %arg2, %4 : tensor<8xf32>
    %6 = stablehlo.reshape %arg1 : (tensor<8xf32>) -> tensor<8x1x1xf32>
    %7 = stablehlo.reshape %6 : (tensor<8x1x1xf32>) -> tensor<1x1x8xf32>
    %8 = stablehlo.broadcast_in_dim %7, dims = [1, 2, 3] : (tensor<1x1x8xf32>) -> tensor<8x28x28x8xf32>
    %9 = stablehlo.subtract %2, %8 : tensor<8x28x28x8xf32>
    %10 = stablehlo.reshape %5 : (tensor<8xf32>) -> tensor<8x1x1xf32>
    %11 = stablehlo.reshape %10 : (tensor<8x1x1xf32>) -> tensor<1x1x8xf32>
    %12 = stablehlo.broadcast_in_dim %11, dims = [1, 2, 3] : (tensor<1x1x8xf32>) -> tensor<8x28x28x8xf32>
    %13 = stablehlo.multiply %9, %12 : tensor<8x28x28x8xf32>
    %14 = stablehlo.reshape %arg3 : (tensor<8xf32>) -> tensor<8x1x1xf32>
    %15 = stablehlo.reshape %14 : (tensor<8x1x1xf32>) -> tensor<1x1x8xf32>
    %16 = stablehlo.broadcast_in_dim %15, dims = [1, 2, 3] : (tensor<1x1x8xf32>) -> tensor<8x28x28x8xf32>
    %17 = stablehlo.add %13, %16 : tensor<8x28x28x8xf32>
    %cst_0 = stablehlo.constant dense<0.000000e+00> : tensor<8x28x28x8xf32>
    %18 = stablehlo.maximum %17, %cst_0 : tensor<8x28x28x8xf32>
    %19 = call @reduced_slices(%18) : (tensor<8x28x28x8xf32>) -> tensor<8x14x14x8xf32>
    %20 = stablehlo.transpose %arg5, dims = [2, 3, 1, 0] : (tensor<16x8x3x3xf32>) -> tensor<3x3x8x16xf32>
    %21 = stablehlo.convolution(%19, %20) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [1, 1], pad = [[1, 1], [1, 1]], lhs_dilate = [1, 1], rhs_dilate = [1, 1]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]} : (tensor<8x14x14x8xf32>, tensor<3x3x8x16xf32>) -> tensor<8x14x14x16xf32>
    %cst_1 = stablehlo.constant dense<9.99999974E-6> : tensor<16xf32>
    %22 = stablehlo.add %arg9, %cst_1 : tensor<16xf32>
    %23 = stablehlo.sqrt %22 : tensor<16xf32>
    %24 = stablehlo.divide %arg7, %23 : tensor<16xf32>
    %25 = stablehlo.reshape %arg6 : (tensor<16xf32>) -> tensor<16x1x1xf32>
    %26 = stablehlo.reshape %25 : (tensor<16x1x1xf32>) -> tensor<1x1x16xf32>
    %27 = stablehlo.broadcast_in_dim %26, dims = [1, 2, 3] : (tensor<1x1x16xf32>) -> tensor<8x14x14x16xf32>
    %28 = stablehlo.subtract %21, %27 : tensor<8x14x14x16xf32>
    %29 = stablehlo.reshape %24 : (tensor<16xf32>) -> tensor<16x1x1xf32>
    %30 = stablehlo.reshape %29 : (tensor<16x1x1xf32>) -> tensor<1x1x16xf32>
    %31 = stablehlo.broadcast_in_dim %30, dims = [1, 2, 3] : (tensor<1x1x16xf32>) -> tensor<8x14x14x16xf32>
    %32 = stablehlo.multiply %28, %31 : tensor<8x14x14x16xf32>
    %33 = stablehlo.reshape %arg8 : (tensor<16xf32>) -> tensor<16x1x1xf32>
    %34 = stablehlo.reshape %33 : (tensor<16x1x1xf32>) -> tensor<1x1x16xf32>
    %35 = stablehlo.broadcast_in_dim %34, dims = [1, 2, 3] : (tensor<1x1x16xf32>) -> tensor<8x14x14x16xf32>
    %36 = stablehlo.add %32, %35 : tensor<8x14x14x16xf32>
    %cst_2 = stablehlo.constant dense<0.000000e+00> : tensor<8x14x14x16xf32>
    %37 = stablehlo.maximum %36, %cst_2 : tensor<8x14x14x16xf32>
    %38 = call @reduced_slices_0(%37) : (tensor<8x14x14x16xf32>) -> tensor<8x7x7x16xf32>
    %39 = stablehlo.transpose %38, dims = [0, 3, 1, 2] : (tensor<8x7x7x16xf32>) -> tensor<8x16x7x7xf32>
    %40 = stablehlo.optimization_barrier %39 : tensor<8x16x7x7xf32>
    %41 = stablehlo.reshape %40 : (tensor<8x16x7x7xf32>) -> tensor<8x784xf32>
    %42 = stablehlo.transpose %arg11, dims = [1, 0] : (tensor<10x784xf32>) -> tensor<784x10xf32>
    %43 = stablehlo.optimization_barrier %42 : tensor<784x10xf32>
    %44 = stablehlo.dot_general %41, %43, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<8x784xf32>, tensor<784x10xf32>) -> tensor<8x10xf32>
    %45 = stablehlo.broadcast_in_dim %arg10, dims = [1] : (tensor<10xf32>) -> tensor<8x10xf32>
    %46 = stablehlo.add %44, %45 : tensor<8x10xf32>
    return %46 : tensor<8x10xf32>
  }
  func.func private @narrow_convolution(%arg0: tensor<8x28x28x1xf32>, %arg1: tensor<3x3x1x8xf32>) -> tensor<8x28x28x8xf32> {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.pad %arg0, %cst, low = [0, 1, 1, 0], high = [0, 1, 1, 0], interior = [0, 0, 0, 0] : (tensor<8x28x28x1xf32>, tensor<f32>) -> tensor<8x30x30x1xf32>
    %1 = stablehlo.optimization_barrier %0 : tensor<8x30x30x1xf32>
    %2 = stablehlo.slice %1 [0:8, 0:28, 0:28, 0:1] : (tensor<8x30x30x1xf32>) -> tensor<8x28x28x1xf32>
    %3 = stablehlo.broadcast_in_dim %2, dims = [0, 1, 2, 3] : (tensor<8x28x28x1xf32>) -> tensor<8x28x28x1x8xf32>
    %4 = stablehlo.reshape %3 : (tensor<8x28x28x1x8xf32>) -> tensor<8x28x28x8xf32>
    %5 = stablehlo.slice %arg1 [0:1, 0:1, 0:1, 0:8] : (tensor<3x3x1x8xf32>) -> tensor<1x1x1x8xf32>
    %6 = stablehlo.reshape %5 : (tensor<1x1x1x8xf32>) -> tensor<8xf32>
    %7 = stablehlo.broadcast_in_dim %6, dims = [3] : (tensor<8xf32>) -> tensor<8x28x28x8xf32>
    %8 = stablehlo.multiply %4, %7 : tensor<8x28x28x8xf32>
    %9 = stablehlo.slice %1 [0:8, 0:28, 1:29, 0:1] : (tensor<8x30x30x1xf32>) -> tensor<8x28x28x1xf32>
    %10 = stablehlo.broadcast_in_dim %9, dims = [0, 1, 2, 3] : (tensor<8x28x28x1xf32>) -> tensor<8x28x28x1x8xf32>
    %11 = stablehlo.reshape %10 : (tensor<8x28x28x1x8xf32>) -> tensor<8x28x28x8xf32>
    %12 = stablehlo.slice %arg1 [0:1, 1:2, 0:1, 0:8] : (tensor<3x3x1x8xf32>) -> tensor<1x1x1x8xf32>
    %13 = stablehlo.reshape %12 : (tensor<1x1x1x8xf32>) -> tensor<8xf32>
    %14 = stablehlo.broadcast_in_dim %13, dims = [3] : (tensor<8xf32>) -> tensor<8x28x28x8xf32>
    %15 = stablehlo.multiply %11, %14 : tensor<8x28x28x8xf32>
    %16 = stablehlo.add %8, %15 : tensor<8x28x28x8xf32>
    %17 = stablehlo.slice %1 [0:8, 0:28, 2:30, 0:1] : (tensor<8x30x30x1xf32>) -> tensor<8x28x28x1xf32>
    %18 = stablehlo.broadcast_in_dim %17, dims = [0, 1, 2, 3] : (tensor<8x28x28x1xf32>) -> tensor<8x28x28x1x8xf32>
    %19 = stablehlo.reshape %18 : (tensor<8x28x28x1x8xf32>) -> tensor<8x28x28x8xf32>
    %20 = stablehlo.slice %arg1 [0:1, 2:3, 0:1, 0:8] : (tensor<3x3x1x8xf32>) -> tensor<1x1x1x8xf32>
    %21 = stablehlo.reshape %20 : (tensor<1x1x1x8xf32>) -> tensor<8xf32>
    %22 = stablehlo.broadcast_in_dim %21, dims = [3] : (tensor<8xf32>) -> tensor<8x28x28x8xf32>
    %23 = stablehlo.multiply %19, %22 : tensor<8x28x28x8xf32>
    %24 = stablehlo.add %16, %23 : tensor<8x28x28x8xf32>
    %25 = stablehlo.slice %1 [0:8, 1:29, 0:28, 0:1] : (tensor<8x30x30x1xf32>) -> tensor<8x28x28x1xf32>
    %26 = stablehlo.broadcast_in_dim %25, dims = [0, 1, 2, 3] : (tensor<8x28x28x1xf32>) -> tensor<8x28x28x1x8xf32>
    %27 = stablehlo.reshape %26 : (tensor<8x28x28x1x8xf32>) -> tensor<8x28x28x8xf32>
    %28 = stablehlo.slice %arg1 [1:2, 0:1, 0:1, 0:8] : (tensor<3x3x1x8xf32>) -> tensor<1x1x1x8xf32>
    %29 = stablehlo.reshape %28 : (tensor<1x1x1x8xf32>) -> tensor<8xf32>
    %30 = stablehlo.broadcast_in_dim %29, dims = [3] : (tensor<8xf32>) -> tensor<8x28x28x8xf32>
    %31 = stablehlo.multiply %27, %30 : tensor<8x28x28x8xf32>
    %32 = stablehlo.add %24, %31 : tensor<8x28x28x8xf32>
    %33 = stablehlo.slice %1 [0:8, 1:29, 1:29, 0:1] : (tensor<8x30x30x1xf32>) -> tensor<8x28x28x1xf32>
    %34 = stablehlo.broadcast_in_dim %33, dims = [0, 1, 2, 3] : (tensor<8x28x28x1xf32>) -> tensor<8x28x28x1x8xf32>
    %35 = stablehlo.reshape %34 : (tensor<8x28x28x1x8xf32>) -> tensor<8x28x28x8xf32>
    %36 = stablehlo.slice %arg1 [1:2, 1:2, 0:1, 0:8] : (tensor<3x3x1x8xf32>) -> tensor<1x1x1x8xf32>
    %37 = stablehlo.reshape %36 : (tensor<1x1x1x8xf32>) -> tensor<8xf32>
    %38 = stablehlo.broadcast_in_dim %37, dims = [3] : (tensor<8xf32>) -> tensor<8x28x28x8xf32>
    %39 = stablehlo.multiply %35, %38 : tensor<8x28x28x8xf32>
    %40 = stablehlo.add %32, %39 : tensor<8x28x28x8xf32>
    %41 = stablehlo.slice %1 [0:8, 1:29, 2:30, 0:1] : (tensor<8x30x30x1xf32>) -> tensor<8x28x28x1xf32>
    %42 = stablehlo.broadcast_in_dim %41, dims = [0, 1, 2, 3] : (tensor<8x28x28x1xf32>) -> tensor<8x28x28x1x8xf32>
    %43 = stablehlo.reshape %42 : (tensor<8x28x28x1x8xf32>) -> tensor<8x28x28x8xf32>
    %44 = stablehlo.slice %arg1 [1:2, 2:3, 0:1, 0:8] : (tensor<3x3x1x8xf32>) -> tensor<1x1x1x8xf32>
    %45 = stablehlo.reshape %44 : (tensor<1x1x1x8xf32>) -> tensor<8xf32>
    %46 = stablehlo.broadcast_in_dim %45, dims = [3] : (tensor<8xf32>) -> tensor<8x28x28x8xf32>
    %47 = stablehlo.multiply %43, %46 : tensor<8x28x28x8xf32>
    %48 = stablehlo.add %40, %47 : tensor<8x28x28x8xf32>
    %49 = stablehlo.slice %1 [0:8, 2:30, 0:28, 0:1] : (tensor<8x30x30x1xf32>) -> tensor<8x28x28x1xf32>
    %50 = stablehlo.broadcast_in_dim %49, dims = [0, 1, 2, 3] : (tensor<8x28x28x1xf32>) -> tensor<8x28x28x1x8xf32>
    %51 = stablehlo.reshape %50 : (tensor<8x28x28x1x8xf32>) -> tensor<8x28x28x8xf32>
    %52 = stablehlo.slice %arg1 [2:3, 0:1, 0:1, 0:8] : (tensor<3x3x1x8xf32>) -> tensor<1x1x1x8xf32>
    %53 = stablehlo.reshape %52 : (tensor<1x1x1x8xf32>) -> tensor<8xf32>
    %54 = stablehlo.broadcast_in_dim %53, dims = [3] : (tensor<8xf32>) -> tensor<8x28x28x8xf32>
    %55 = stablehlo.multiply %51, %54 : tensor<8x28x28x8xf32>
    %56 = stablehlo.add %48, %55 : tensor<8x28x28x8xf32>
    %57 = stablehlo.slice %1 [0:8, 2:30, 1:29, 0:1] : (tensor<8x30x30x1xf32>) -> tensor<8x28x28x1xf32>
    %58 = stablehlo.broadcast_in_dim %57, dims = [0, 1, 2, 3] : (tensor<8x28x28x1xf32>) -> tensor<8x28x28x1x8xf32>
    %59 = stablehlo.reshape %58 : (tensor<8x28x28x1x8xf32>) -> tensor<8x28x28x8xf32>
    %60 = stablehlo.slice %arg1 [2:3, 1:2, 0:1, 0:8] : (tensor<3x3x1x8xf32>) -> tensor<1x1x1x8xf32>
    %61 = stablehlo.reshape %60 : (tensor<1x1x1x8xf32>) -> tensor<8xf32>
    %62 = stablehlo.broadcast_in_dim %61, dims = [3] : (tensor<8xf32>) -> tensor<8x28x28x8xf32>
    %63 = stablehlo.multiply %59, %62 : tensor<8x28x28x8xf32>
    %64 = stablehlo.add %56, %63 : tensor<8x28x28x8xf32>
    %65 = stablehlo.slice %1 [0:8, 2:30, 2:30, 0:1] : (tensor<8x30x30x1xf32>) -> tensor<8x28x28x1xf32>
    %66 = stablehlo.broadcast_in_dim %65, dims = [0, 1, 2, 3] : (tensor<8x28x28x1xf32>) -> tensor<8x28x28x1x8xf32>
    %67 = stablehlo.reshape %66 : (tensor<8x28x28x1x8xf32>) -> tensor<8x28x28x8xf32>
    %68 = stablehlo.slice %arg1 [2:3, 2:3, 0:1, 0:8] : (tensor<3x3x1x8xf32>) -> tensor<1x1x1x8xf32>
    %69 = stablehlo.reshape %68 : (tensor<1x1x1x8xf32>) -> tensor<8xf32>
    %70 = stablehlo.broadcast_in_dim %69, dims = [3] : (tensor<8xf32>) -> tensor<8x28x28x8xf32>
    %71 = stablehlo.multiply %67, %70 : tensor<8x28x28x8xf32>
    %72 = stablehlo.add %64, %71 : tensor<8x28x28x8xf32>
    return %72 : tensor<8x28x28x8xf32>
  }
  func.func private @reduced_slices(%arg0: tensor<8x28x28x8xf32>) -> tensor<8x14x14x8xf32> {
    %0 = stablehlo.slice %arg0 [0:8, 0:27:2, 0:27:2, 0:8] : (tensor<8x28x28x8xf32>) -> tensor<8x14x14x8xf32>
    %1 = stablehlo.slice %arg0 [0:8, 0:27:2, 1:28:2, 0:8] : (tensor<8x28x28x8xf32>) -> tensor<8x14x14x8xf32>
    %2 = stablehlo.maximum %0, %1 : tensor<8x14x14x8xf32>
    %3 = stablehlo.slice %arg0 [0:8, 1:28:2, 0:27:2, 0:8] : (tensor<8x28x28x8xf32>) -> tensor<8x14x14x8xf32>
    %4 = stablehlo.maximum %2, %3 : tensor<8x14x14x8xf32>
    %5 = stablehlo.slice %arg0 [0:8, 1:28:2, 1:28:2, 0:8] : (tensor<8x28x28x8xf32>) -> tensor<8x14x14x8xf32>
    %6 = stablehlo.maximum %4, %5 : tensor<8x14x14x8xf32>
    return %6 : tensor<8x14x14x8xf32>
  }
  func.func private @reduced_slices_0(%arg0: tensor<8x14x14x16xf32>) -> tensor<8x7x7x16xf32> {
    %0 = stablehlo.slice %arg0 [0:8, 0:13:2, 0:13:2, 0:16] : (tensor<8x14x14x16xf32>) -> tensor<8x7x7x16xf32>
    %1 = stablehlo.slice %arg0 [0:8, 0:13:2, 1:14:2, 0:16] : (tensor<8x14x14x16xf32>) -> tensor<8x7x7x16xf32>
    %2 = stablehlo.maximum %0, %1 : tensor<8x7x7x16xf32>
    %3 = stablehlo.slice %arg0 [0:8, 1:14:2, 0:13:2, 0:16] : (tensor<8x14x14x16xf32>) -> tensor<8x7x7x16xf32>
    %4 = stablehlo.maximum %2, %3 : tensor<8x7x7x16xf32>
    %5 = stablehlo.slice %arg0 [0:8, 1:14:2, 1:14:2, 0:16] : (tensor<8x14x14x16xf32>) -> tensor<8x7x7x16xf32>
    %6 = stablehlo.maximum %4, %5 : tensor<8x7x7x16xf32>
    return %6 : tensor<8x7x7x16xf32>
  }
}
