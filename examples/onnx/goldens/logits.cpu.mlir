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
    %0 = stablehlo.transpose %arg1, dims = [3, 2, 0, 1] : (tensor<3x3x1x8xf32>) -> tensor<8x1x3x3xf32>
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %1 = stablehlo.pad %arg0, %cst, low = [0, 1, 1, 0], high = [0, 1, 1, 0], interior = [0, 0, 0, 0] : (tensor<8x28x28x1xf32>, tensor<f32>) -> tensor<8x30x30x1xf32>
    %2 = stablehlo.optimization_barrier %1 : tensor<8x30x30x1xf32>
    %3 = stablehlo.slice %2 [0:8, 0:28, 0:28, 0:1] : (tensor<8x30x30x1xf32>) -> tensor<8x28x28x1xf32>
    %4 = stablehlo.broadcast_in_dim %3, dims = [0, 1, 2, 3] : (tensor<8x28x28x1xf32>) -> tensor<8x28x28x1x8xf32>
    %5 = stablehlo.reshape %4 : (tensor<8x28x28x1x8xf32>) -> tensor<8x28x28x8xf32>
    %6 = stablehlo.slice %0 [0:8, 0:1, 0:1, 0:1] : (tensor<8x1x3x3xf32>) -> tensor<8x1x1x1xf32>
    %7 = stablehlo.reshape %6 : (tensor<8x1x1x1xf32>) -> tensor<8xf32>
    %8 = stablehlo.broadcast_in_dim %7, dims = [3] : (tensor<8xf32>) -> tensor<8x28x28x8xf32>
    %9 = stablehlo.multiply %5, %8 : tensor<8x28x28x8xf32>
    %10 = stablehlo.slice %2 [0:8, 0:28, 1:29, 0:1] : (tensor<8x30x30x1xf32>) -> tensor<8x28x28x1xf32>
    %11 = stablehlo.broadcast_in_dim %10, dims = [0, 1, 2, 3] : (tensor<8x28x28x1xf32>) -> tensor<8x28x28x1x8xf32>
    %12 = stablehlo.reshape %11 : (tensor<8x28x28x1x8xf32>) -> tensor<8x28x28x8xf32>
    %13 = stablehlo.slice %0 [0:8, 0:1, 0:1, 1:2] : (tensor<8x1x3x3xf32>) -> tensor<8x1x1x1xf32>
    %14 = stablehlo.reshape %13 : (tensor<8x1x1x1xf32>) -> tensor<8xf32>
    %15 = stablehlo.broadcast_in_dim %14, dims = [3] : (tensor<8xf32>) -> tensor<8x28x28x8xf32>
    %16 = stablehlo.multiply %12, %15 : tensor<8x28x28x8xf32>
    %17 = stablehlo.add %9, %16 : tensor<8x28x28x8xf32>
    %18 = stablehlo.slice %2 [0:8, 0:28, 2:30, 0:1] : (tensor<8x30x30x1xf32>) -> tensor<8x28x28x1xf32>
    %19 = stablehlo.broadcast_in_dim %18, dims = [0, 1, 2, 3] : (tensor<8x28x28x1xf32>) -> tensor<8x28x28x1x8xf32>
    %20 = stablehlo.reshape %19 : (tensor<8x28x28x1x8xf32>) -> tensor<8x28x28x8xf32>
    %21 = stablehlo.slice %0 [0:8, 0:1, 0:1, 2:3] : (tensor<8x1x3x3xf32>) -> tensor<8x1x1x1xf32>
    %22 = stablehlo.reshape %21 : (tensor<8x1x1x1xf32>) -> tensor<8xf32>
    %23 = stablehlo.broadcast_in_dim %22, dims = [3] : (tensor<8xf32>) -> tensor<8x28x28x8xf32>
    %24 = stablehlo.multiply %20, %23 : tensor<8x28x28x8xf32>
    %25 = stablehlo.add %17, %24 : tensor<8x28x28x8xf32>
    %26 = stablehlo.slice %2 [0:8, 1:29, 0:28, 0:1] : (tensor<8x30x30x1xf32>) -> tensor<8x28x28x1xf32>
    %27 = stablehlo.broadcast_in_dim %26, dims = [0, 1, 2, 3] : (tensor<8x28x28x1xf32>) -> tensor<8x28x28x1x8xf32>
    %28 = stablehlo.reshape %27 : (tensor<8x28x28x1x8xf32>) -> tensor<8x28x28x8xf32>
    %29 = stablehlo.slice %0 [0:8, 0:1, 1:2, 0:1] : (tensor<8x1x3x3xf32>) -> tensor<8x1x1x1xf32>
    %30 = stablehlo.reshape %29 : (tensor<8x1x1x1xf32>) -> tensor<8xf32>
    %31 = stablehlo.broadcast_in_dim %30, dims = [3] : (tensor<8xf32>) -> tensor<8x28x28x8xf32>
    %32 = stablehlo.multiply %28, %31 : tensor<8x28x28x8xf32>
    %33 = stablehlo.add %25, %32 : tensor<8x28x28x8xf32>
    %34 = stablehlo.slice %2 [0:8, 1:29, 1:29, 0:1] : (tensor<8x30x30x1xf32>) -> tensor<8x28x28x1xf32>
    %35 = stablehlo.broadcast_in_dim %34, dims = [0, 1, 2, 3] : (tensor<8x28x28x1xf32>) -> tensor<8x28x28x1x8xf32>
    %36 = stablehlo.reshape %35 : (tensor<8x28x28x1x8xf32>) -> tensor<8x28x28x8xf32>
    %37 = stablehlo.slice %0 [0:8, 0:1, 1:2, 1:2] : (tensor<8x1x3x3xf32>) -> tensor<8x1x1x1xf32>
    %38 = stablehlo.reshape %37 : (tensor<8x1x1x1xf32>) -> tensor<8xf32>
    %39 = stablehlo.broadcast_in_dim %38, dims = [3] : (tensor<8xf32>) -> tensor<8x28x28x8xf32>
    %40 = stablehlo.multiply %36, %39 : tensor<8x28x28x8xf32>
    %41 = stablehlo.add %33, %40 : tensor<8x28x28x8xf32>
    %42 = stablehlo.slice %2 [0:8, 1:29, 2:30, 0:1] : (tensor<8x30x30x1xf32>) -> tensor<8x28x28x1xf32>
    %43 = stablehlo.broadcast_in_dim %42, dims = [0, 1, 2, 3] : (tensor<8x28x28x1xf32>) -> tensor<8x28x28x1x8xf32>
    %44 = stablehlo.reshape %43 : (tensor<8x28x28x1x8xf32>) -> tensor<8x28x28x8xf32>
    %45 = stablehlo.slice %0 [0:8, 0:1, 1:2, 2:3] : (tensor<8x1x3x3xf32>) -> tensor<8x1x1x1xf32>
    %46 = stablehlo.reshape %45 : (tensor<8x1x1x1xf32>) -> tensor<8xf32>
    %47 = stablehlo.broadcast_in_dim %46, dims = [3] : (tensor<8xf32>) -> tensor<8x28x28x8xf32>
    %48 = stablehlo.multiply %44, %47 : tensor<8x28x28x8xf32>
    %49 = stablehlo.add %41, %48 : tensor<8x28x28x8xf32>
    %50 = stablehlo.slice %2 [0:8, 2:30, 0:28, 0:1] : (tensor<8x30x30x1xf32>) -> tensor<8x28x28x1xf32>
    %51 = stablehlo.broadcast_in_dim %50, dims = [0, 1, 2, 3] : (tensor<8x28x28x1xf32>) -> tensor<8x28x28x1x8xf32>
    %52 = stablehlo.reshape %51 : (tensor<8x28x28x1x8xf32>) -> tensor<8x28x28x8xf32>
    %53 = stablehlo.slice %0 [0:8, 0:1, 2:3, 0:1] : (tensor<8x1x3x3xf32>) -> tensor<8x1x1x1xf32>
    %54 = stablehlo.reshape %53 : (tensor<8x1x1x1xf32>) -> tensor<8xf32>
    %55 = stablehlo.broadcast_in_dim %54, dims = [3] : (tensor<8xf32>) -> tensor<8x28x28x8xf32>
    %56 = stablehlo.multiply %52, %55 : tensor<8x28x28x8xf32>
    %57 = stablehlo.add %49, %56 : tensor<8x28x28x8xf32>
    %58 = stablehlo.slice %2 [0:8, 2:30, 1:29, 0:1] : (tensor<8x30x30x1xf32>) -> tensor<8x28x28x1xf32>
    %59 = stablehlo.broadcast_in_dim %58, dims = [0, 1, 2, 3] : (tensor<8x28x28x1xf32>) -> tensor<8x28x28x1x8xf32>
    %60 = stablehlo.reshape %59 : (tensor<8x28x28x1x8xf32>) -> tensor<8x28x28x8xf32>
    %61 = stablehlo.slice %0 [0:8, 0:1, 2:3, 1:2] : (tensor<8x1x3x3xf32>) -> tensor<8x1x1x1xf32>
    %62 = stablehlo.reshape %61 : (tensor<8x1x1x1xf32>) -> tensor<8xf32>
    %63 = stablehlo.broadcast_in_dim %62, dims = [3] : (tensor<8xf32>) -> tensor<8x28x28x8xf32>
    %64 = stablehlo.multiply %60, %63 : tensor<8x28x28x8xf32>
    %65 = stablehlo.add %57, %64 : tensor<8x28x28x8xf32>
    %66 = stablehlo.slice %2 [0:8, 2:30, 2:30, 0:1] : (tensor<8x30x30x1xf32>) -> tensor<8x28x28x1xf32>
    %67 = stablehlo.broadcast_in_dim %66, dims = [0, 1, 2, 3] : (tensor<8x28x28x1xf32>) -> tensor<8x28x28x1x8xf32>
    %68 = stablehlo.reshape %67 : (tensor<8x28x28x1x8xf32>) -> tensor<8x28x28x8xf32>
    %69 = stablehlo.slice %0 [0:8, 0:1, 2:3, 2:3] : (tensor<8x1x3x3xf32>) -> tensor<8x1x1x1xf32>
    %70 = stablehlo.reshape %69 : (tensor<8x1x1x1xf32>) -> tensor<8xf32>
    %71 = stablehlo.broadcast_in_dim %70, dims = [3] : (tensor<8xf32>) -> tensor<8x28x28x8xf32>
    %72 = stablehlo.multiply %68, %71 : tensor<8x28x28x8xf32>
    %73 = stablehlo.add %65, %72 : tensor<8x28x28x8xf32>
    return %73 : tensor<8x28x28x8xf32>
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
