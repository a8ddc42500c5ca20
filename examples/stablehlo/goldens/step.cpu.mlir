module @jit_network attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<64xf32> {tf.aliasing_output = 1 : i32}, %arg1: tensor<64x64xf32> {tf.aliasing_output = 2 : i32}, %arg2: tensor<64xf32> {tf.aliasing_output = 3 : i32}, %arg3: tensor<64x64xf32> {tf.aliasing_output = 4 : i32}, %arg4: tensor<64xf32> {tf.aliasing_output = 5 : i32}, %arg5: tensor<64x64xf32> {tf.aliasing_output = 6 : i32}, %arg6: tensor<64xf32> {tf.aliasing_output = 7 : i32}, %arg7: tensor<64x64xf32> {tf.aliasing_output = 8 : i32}, %arg8: tensor<32x64xf32>, %arg9: tensor<32x64xf32>) -> (tensor<f32> {olympus.result_info = "result[0]"}, tensor<64xf32> {olympus.result_info = "result[1][0]['b']"}, tensor<64x64xf32> {olympus.result_info = "result[1][0]['w']"}, tensor<64xf32> {olympus.result_info = "result[1][1]['b']"}, tensor<64x64xf32> {olympus.result_info = "result[1][1]['w']"}, tensor<64xf32> {olympus.result_info = "result[1][2]['b']"}, tensor<64x64xf32> {olympus.result_info = "result[1][2]['w']"}, tensor<64xf32> {olympus.result_info = "result[1][3]['b']"}, tensor<64x64xf32> {olympus.result_info = "result[1][3]['w']"}) {
    %0 = stablehlo.dot_general %arg8, %arg1, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<32x64xf32>, tensor<64x64xf32>) -> tensor<32x64xf32>
    %1 = stablehlo.broadcast_in_dim %arg0, dims = [1] : (tensor<64xf32>) -> tensor<1x64xf32>
    %2 = stablehlo.broadcast_in_dim %1, dims = [0, 1] : (tensor<1x64xf32>) -> tensor<32x64xf32>
    %3 = stablehlo.add %0, %2 : tensor<32x64xf32>
    %4 = stablehlo.tanh %3 : tensor<32x64xf32>
    %cst = stablehlo.constant dense<1.000000e+00> : tensor<32x64xf32>
    %5 = stablehlo.subtract %cst, %4 : tensor<32x64xf32>
    %6 = stablehlo.add %arg8, %4 : tensor<32x64xf32>
    %7 = stablehlo.dot_general %6, %arg3, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<32x64xf32>, tensor<64x64xf32>) -> tensor<32x64xf32>
    %8 = stablehlo.broadcast_in_dim %arg2, dims = [1] : (tensor<64xf32>) -> tensor<1x64xf32>
    %9 = stablehlo.broadcast_in_dim %8, dims = [0, 1] : (tensor<1x64xf32>) -> tensor<32x64xf32>
    %10 = stablehlo.add %7, %9 : tensor<32x64xf32>
    %11 = stablehlo.tanh %10 : tensor<32x64xf32>
    %12 = stablehlo.subtract %cst, %11 : tensor<32x64xf32>
    %13 = stablehlo.add %6, %11 : tensor<32x64xf32>
    %14 = stablehlo.dot_general %13, %arg5, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<32x64xf32>, tensor<64x64xf32>) -> tensor<32x64xf32>
    %15 = stablehlo.broadcast_in_dim %arg4, dims = [1] : (tensor<64xf32>) -> tensor<1x64xf32>
    %16 = stablehlo.broadcast_in_dim %15, dims = [0, 1] : (tensor<1x64xf32>) -> tensor<32x64xf32>
    %17 = stablehlo.add %14, %16 : tensor<32x64xf32>
    %18 = stablehlo.tanh %17 : tensor<32x64xf32>
    %19 = stablehlo.subtract %cst, %18 : tensor<32x64xf32>
    %20 = stablehlo.add %13, %18 : tensor<32x64xf32>
    %21 = stablehlo.dot_general %20, %arg7, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<32x64xf32>, tensor<64x64xf32>) -> tensor<32x64xf32>
    %22 = stablehlo.broadcast_in_dim %arg6, dims = [1] : (tensor<64xf32>) -> tensor<1x64xf32>
    %23 = stablehlo.broadcast_in_dim %22, dims = [0, 1] : (tensor<1x64xf32>) -> tensor<32x64xf32>
    %24 = stablehlo.add %21, %23 : tensor<32x64xf32>
    %25 = stablehlo.tanh %24 : tensor<32x64xf32>
    %26 = stablehlo.subtract %cst, %25 : tensor<32x64xf32>
    %27 = stablehlo.add %20, %25 : tensor<32x64xf32>
    %28 = stablehlo.subtract %27, %arg9 : tensor<32x64xf32>
    %29 = stablehlo.multiply %28, %28 : tensor<32x64xf32>
    %cst_0 = stablehlo.constant dense<2.000000e+00> : tensor<32x64xf32>
    %30 = stablehlo.multiply %cst_0, %28 : tensor<32x64xf32>
    %cst_1 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %31 = stablehlo.reduce(%29 init: %cst_1) applies stablehlo.add across dimensions = [0, 1] : (tensor<32x64xf32>, tensor<f32>) -> tensor<f32>
    %cst_2 = stablehlo.constant dense<2.048000e+03> : tensor<f32>
    %32 = stablehlo.divide %31, %cst_2 : tensor<f32>
    %cst_3 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %33 = stablehlo.divide %cst_3, %cst_2 : tensor<f32>
    %34 = stablehlo.broadcast_in_dim %33, dims = [] : (tensor<f32>) -> tensor<32x64xf32>
    %35 = stablehlo.multiply %34, %30 : tensor<32x64xf32>
    %36 = stablehlo.multiply %35, %26 : tensor<32x64xf32>
    %37 = stablehlo.multiply %36, %25 : tensor<32x64xf32>
    %38 = stablehlo.add %36, %37 : tensor<32x64xf32>
    %39 = stablehlo.reduce(%38 init: %cst_1) applies stablehlo.add across dimensions = [0] : (tensor<32x64xf32>, tensor<f32>) -> tensor<64xf32>
    %40 = stablehlo.reshape %39 : (tensor<64xf32>) -> tensor<1x64xf32>
    %41 = stablehlo.reduce(%40 init: %cst_1) applies stablehlo.add across dimensions = [0] : (tensor<1x64xf32>, tensor<f32>) -> tensor<64xf32>
    %42 = stablehlo.dot_general %38, %20, contracting_dims = [0] x [0], precision = [DEFAULT, DEFAULT] : (tensor<32x64xf32>, tensor<32x64xf32>) -> tensor<64x64xf32>
    %43 = stablehlo.transpose %42, dims = [1, 0] : (tensor<64x64xf32>) -> tensor<64x64xf32>
    %44 = stablehlo.dot_general %38, %arg7, contracting_dims = [1] x [1], precision = [DEFAULT, DEFAULT] : (tensor<32x64xf32>, tensor<64x64xf32>) -> tensor<32x64xf32>
    %45 = stablehlo.add %35, %44 : tensor<32x64xf32>
    %46 = stablehlo.multiply %45, %19 : tensor<32x64xf32>
    %47 = stablehlo.multiply %46, %18 : tensor<32x64xf32>
    %48 = stablehlo.add %46, %47 : tensor<32x64xf32>
    %49 = stablehlo.reduce(%48 init: %cst_1) applies stablehlo.add across dimensions = [0] : (tensor<32x64xf32>, tensor<f32>) -> tensor<64xf32>
    %50 = stablehlo.reshape %49 : (tensor<64xf32>) -> tensor<1x64xf32>
    %51 = stablehlo.reduce(%50 init: %cst_1) applies stablehlo.add across dimensions = [0] : (tensor<1x64xf32>, tensor<f32>) -> tensor<64xf32>
    %52 = stablehlo.dot_general %48, %13, contracting_dims = [0] x [0], precision = [DEFAULT, DEFAULT] : (tensor<32x64xf32>, tensor<32x64xf32>) -> tensor<64x64xf32>
    %53 = stablehlo.transpose %52, dims = [1, 0] : (tensor<64x64xf32>) -> tensor<64x64xf32>
    %54 = stablehlo.dot_general %48, %arg5, contracting_dims = [1] x [1], precision = [DEFAULT, DEFAULT] : (tensor<32x64xf32>, tensor<64x64xf32>) -> tensor<32x64xf32>
    %55 = stablehlo.add %45, %54 : tensor<32x64xf32>
    %56 = stablehlo.multiply %55, %12 : tensor<32x64xf32>
    %57 = stablehlo.multiply %56, %11 : tensor<32x64xf32>
    %58 = stablehlo.add %56, %57 : tensor<32x64xf32>
    %59 = stablehlo.reduce(%58 init: %cst_1) applies stablehlo.add across dimensions = [0] : (tensor<32x64xf32>, tensor<f32>) -> tensor<64xf32>
    %60 = stablehlo.reshape %59 : (tensor<64xf32>) -> tensor<1x64xf32>
    %61 = stablehlo.reduce(%60 init: %cst_1) applies stablehlo.add across dimensions = [0] : (tensor<1x64xf32>, tensor<f32>) -> tensor<64xf32>
    %62 = stablehlo.dot_general %58, %6, contracting_dims = [0] x [0], precision = [DEFAULT, DEFAULT] : (tensor<32x64xf32>, tensor<32x64xf32>) -> tensor<64x64xf32>
    %63 = stablehlo.transpose %62, dims = [1, 0] : (tensor<64x64xf32>) -> tensor<64x64xf32>
    %64 = stablehlo.dot_general %58, %arg3, contracting_dims = [1] x [1], precision = [DEFAULT, DEFAULT] : (tensor<32x64xf32>, tensor<64x64xf32>) -> tensor<32x64xf32>
    %65 = stablehlo.add %55, %64 : tensor<32x64xf32>
    %66 = stablehlo.multiply %65, %5 : tensor<32x64xf32>
    %67 = stablehlo.multiply %66, %4 : tensor<32x64xf32>
    %68 = stablehlo.add %66, %67 : tensor<32x64xf32>
    %69 = stablehlo.reduce(%68 init: %cst_1) applies stablehlo.add across dimensions = [0] : (tensor<32x64xf32>, tensor<f32>) -> tensor<64xf32>
    %70 = stablehlo.reshape %69 : (tensor<64xf32>) -> tensor<1x64xf32>
    %71 = stablehlo.reduce(%70 init: %cst_1) applies stablehlo.add across dimensions = [0] : (tensor<1x64xf32>, tensor<f32>) -> tensor<64xf32>
    %72 = stablehlo.dot_general %68, %arg8, contracting_dims = [0] x [0], precision = [DEFAULT, DEFAULT] : (tensor<32x64xf32>, tensor<32x64xf32>) -> tensor<64x64xf32>
    %73 = stablehlo.transpose %72, dims = [1, 0] : (tensor<64x64xf32>) -> tensor<64x64xf32>
    %cst_4 = stablehlo.constant dense<1.000000e-01> : tensor<64xf32>
    %74 = stablehlo.multiply %cst_4, %71 : tensor<64xf32>
    %75 = stablehlo.subtract %arg0, %74 : tensor<64xf32>
    %cst_5 = stablehlo.constant dense<1.000000e-01> : tensor<64x64xf32>
    %76 = stablehlo.multiply %cst_5, %73 : tensor<64x64xf32>
    %77 = stablehlo.subtract %arg1, %76 : tensor<64x64xf32>
    %78 = stablehlo.multiply %cst_4, %61 : tensor<64xf32>
    %79 = stablehlo.subtract %arg2, %78 : tensor<64xf32>
    %80 = stablehlo.multiply %cst_5, %63 : tensor<64x64xf32>
    %81 = stablehlo.subtract %arg3, %80 : tensor<64x64xf32>
    %82 = stablehlo.multiply %cst_4, %51 : tensor<64xf32>
    %83 = stablehlo.subtract %arg4, %82 : tensor<64xf32>
    %84 = stablehlo.multiply %cst_5, %53 : tensor<64x64xf32>
    %85 = stablehlo.subtract %arg5, %84 : tensor<64x64xf32>
    %86 = stablehlo.multiply %cst_4, %41 : tensor<64xf32>
    %87 = stablehlo.subtract %arg6, %86 : tensor<64xf32>
    %88 = stablehlo.multiply %cst_5, %43 : tensor<64x64xf32>
    %89 = stablehlo.subtract %arg7, %88 : tensor<64x64xf32>
    return %32, %75, %77, %79, %81, %83, %85, %87, %89 : tensor<f32>, tensor<64xf32>, tensor<64x64xf32>, tensor<64xf32>, tensor<64x64xf32>, tensor<64xf32>, tensor<64x64xf32>, tensor<64xf32>, tensor<64x64xf32>
  }
}
