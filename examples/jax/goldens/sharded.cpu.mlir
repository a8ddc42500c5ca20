module @jit_step attributes {mhlo.num_partitions = 8 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["data"=2, "model"=4]>
  func.func public @main(%arg0: tensor<64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"model"}]>, tf.aliasing_output = 1 : i32}, %arg1: tensor<64x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"model"}, {}]>, tf.aliasing_output = 2 : i32}, %arg2: tensor<64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"model"}]>, tf.aliasing_output = 3 : i32}, %arg3: tensor<64x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"model"}, {}]>, tf.aliasing_output = 4 : i32}, %arg4: tensor<64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"model"}]>, tf.aliasing_output = 5 : i32}, %arg5: tensor<64x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"model"}, {}]>, tf.aliasing_output = 6 : i32}, %arg6: tensor<64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"model"}]>, tf.aliasing_output = 7 : i32}, %arg7: tensor<64x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"model"}, {}]>, tf.aliasing_output = 8 : i32}, %arg8: tensor<64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"model"}]>, tf.aliasing_output = 9 : i32}, %arg9: tensor<64x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"model"}, {}]>, tf.aliasing_output = 10 : i32}, %arg10: tensor<64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"model"}]>, tf.aliasing_output = 11 : i32}, %arg11: tensor<64x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"model"}, {}]>, tf.aliasing_output = 12 : i32}, %arg12: tensor<32x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>}, %arg13: tensor<32x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>}) -> (tensor<f32> {olympus.result_info = "result[0]", sdy.sharding = #sdy.sharding<@mesh, []>}, tensor<64xf32> {olympus.result_info = "result[1][0]['b']", sdy.sharding = #sdy.sharding<@mesh, [{"model"}]>}, tensor<64x64xf32> {olympus.result_info = "result[1][0]['w']", sdy.sharding = #sdy.sharding<@mesh, [{"model"}, {}]>}, tensor<64xf32> {olympus.result_info = "result[1][1]['b']", sdy.sharding = #sdy.sharding<@mesh, [{"model"}]>}, tensor<64x64xf32> {olympus.result_info = "result[1][1]['w']", sdy.sharding = #sdy.sharding<@mesh, [{"model"}, {}]>}, tensor<64xf32> {olympus.result_info = "result[1][2]['b']", sdy.sharding = #sdy.sharding<@mesh, [{"model"}]>}, tensor<64x64xf32> {olympus.result_info = "result[1][2]['w']", sdy.sharding = #sdy.sharding<@mesh, [{"model"}, {}]>}, tensor<64xf32> {olympus.result_info = "result[1][3]['b']", sdy.sharding = #sdy.sharding<@mesh, [{"model"}]>}, tensor<64x64xf32> {olympus.result_info = "result[1][3]['w']", sdy.sharding = #sdy.sharding<@mesh, [{"model"}, {}]>}, tensor<64xf32> {olympus.result_info = "result[1][4]['b']", sdy.sharding = #sdy.sharding<@mesh, [{"model"}]>}, tensor<64x64xf32> {olympus.result_info = "result[1][4]['w']", sdy.sharding = #sdy.sharding<@mesh, [{"model"}, {}]>}, tensor<64xf32> {olympus.result_info = "result[1][5]['b']", sdy.sharding = #sdy.sharding<@mesh, [{"model"}]>}, tensor<64x64xf32> {olympus.result_info = "result[1][5]['w']", sdy.sharding = #sdy.sharding<@mesh, [{"model"}, {}]>}) {
    %0:13 = call @step(%arg0, %arg1, %arg2, %arg3, %arg4, %arg5, %arg6, %arg7, %arg8, %arg9, %arg10, %arg11, %arg12, %arg13) : (tensor<64xf32>, tensor<64x64xf32>, tensor<64xf32>, tensor<64x64xf32>, tensor<64xf32>, tensor<64x64xf32>, tensor<64xf32>, tensor<64x64xf32>, tensor<64xf32>, tensor<64x64xf32>, tensor<64xf32>, tensor<64x64xf32>, tensor<32x64xf32>, tensor<32x64xf32>) -> (tensor<f32>, tensor<64xf32>, tensor<64x64xf32>, tensor<64xf32>, tensor<64x64xf32>, tensor<64xf32>, tensor<64x64xf32>, tensor<64xf32>, tensor<64x64xf32>, tensor<64xf32>, tensor<64x64xf32>, tensor<64xf32>, tensor<64x64xf32>)
    return %0#0, %0#1, %0#2, %0#3, %0#4, %0#5, %0#6, %0#7, %0#8, %0#9, %0#10, %0#11, %0#12 : tensor<f32>, tensor<64xf32>, tensor<64x64xf32>, tensor<64xf32>, tensor<64x64xf32>, tensor<64xf32>, tensor<64x64xf32>, tensor<64xf32>, tensor<64x64xf32>, tensor<64xf32>, tensor<64x64xf32>, tensor<64xf32>, tensor<64x64xf32>
  }
  func.func private @step(%arg0: tensor<64xf32>, %arg1: tensor<64x64xf32>, %arg2: tensor<64xf32>, %arg3: tensor<64x64xf32>, %arg4: tensor<64xf32>, %arg5: tensor<64x64xf32>, %arg6: tensor<64xf32>, %arg7: tensor<64x64xf32>, %arg8: tensor<64xf32>, %arg9: tensor<64x64xf32>, %arg10: tensor<64xf32>, %arg11: tensor<64x64xf32>, %arg12: tensor<32x64xf32>, %arg13: tensor<32x64xf32>) -> (tensor<f32>, tensor<64xf32>, tensor<64x64xf32>, tensor<64xf32>, tensor<64x64xf32>, tensor<64xf32>, tensor<64x64xf32>, tensor<64xf32>, tensor<64x64xf32>, tensor<64xf32>, tensor<64x64xf32>, tensor<64xf32>, tensor<64x64xf32>) {
    %0 = stablehlo.dot_general %arg12, %arg1, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<32x64xf32>, tensor<64x64xf32>) -> tensor<32x64xf32>
    %1 = stablehlo.broadcast_in_dim %arg0, dims = [1] : (tensor<64xf32>) -> tensor<1x64xf32>
    %2 = stablehlo.broadcast_in_dim %1, dims = [0, 1] : (tensor<1x64xf32>) -> tensor<32x64xf32>
    %3 = stablehlo.add %0, %2 : tensor<32x64xf32>
    %4 = stablehlo.tanh %3 : tensor<32x64xf32>
    %cst = stablehlo.constant dense<1.000000e+00> : tensor<32x64xf32>
    %5 = stablehlo.subtract %cst, %4 : tensor<32x64xf32>
    %6 = stablehlo.dot_general %4, %arg3, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<32x64xf32>, tensor<64x64xf32>) -> tensor<32x64xf32>
    %7 = stablehlo.broadcast_in_dim %arg2, dims = [1] : (tensor<64xf32>) -> tensor<1x64xf32>
    %8 = stablehlo.broadcast_in_dim %7, dims = [0, 1] : (tensor<1x64xf32>) -> tensor<32x64xf32>
    %9 = stablehlo.add %6, %8 : tensor<32x64xf32>
    %10 = stablehlo.tanh %9 : tensor<32x64xf32>
    %11 = stablehlo.subtract %cst, %10 : tensor<32x64xf32>
    %12 = stablehlo.dot_general %10, %arg5, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<32x64xf32>, tensor<64x64xf32>) -> tensor<32x64xf32>
    %13 = stablehlo.broadcast_in_dim %arg4, dims = [1] : (tensor<64xf32>) -> tensor<1x64xf32>
    %14 = stablehlo.broadcast_in_dim %13, dims = [0, 1] : (tensor<1x64xf32>) -> tensor<32x64xf32>
    %15 = stablehlo.add %12, %14 : tensor<32x64xf32>
    %16 = stablehlo.tanh %15 : tensor<32x64xf32>
    %17 = stablehlo.subtract %cst, %16 : tensor<32x64xf32>
    %18 = stablehlo.dot_general %16, %arg7, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<32x64xf32>, tensor<64x64xf32>) -> tensor<32x64xf32>
    %19 = stablehlo.broadcast_in_dim %arg6, dims = [1] : (tensor<64xf32>) -> tensor<1x64xf32>
    %20 = stablehlo.broadcast_in_dim %19, dims = [0, 1] : (tensor<1x64xf32>) -> tensor<32x64xf32>
    %21 = stablehlo.add %18, %20 : tensor<32x64xf32>
    %22 = stablehlo.tanh %21 : tensor<32x64xf32>
    %23 = stablehlo.subtract %cst, %22 : tensor<32x64xf32>
    %24 = stablehlo.dot_general %22, %arg9, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<32x64xf32>, tensor<64x64xf32>) -> tensor<32x64xf32>
    %25 = stablehlo.broadcast_in_dim %arg8, dims = [1] : (tensor<64xf32>) -> tensor<1x64xf32>
    %26 = stablehlo.broadcast_in_dim %25, dims = [0, 1] : (tensor<1x64xf32>) -> tensor<32x64xf32>
    %27 = stablehlo.add %24, %26 : tensor<32x64xf32>
    %28 = stablehlo.tanh %27 : tensor<32x64xf32>
    %29 = stablehlo.subtract %cst, %28 : tensor<32x64xf32>
    %30 = stablehlo.dot_general %28, %arg11, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<32x64xf32>, tensor<64x64xf32>) -> tensor<32x64xf32>
    %31 = stablehlo.broadcast_in_dim %arg10, dims = [1] : (tensor<64xf32>) -> tensor<1x64xf32>
    %32 = stablehlo.broadcast_in_dim %31, dims = [0, 1] : (tensor<1x64xf32>) -> tensor<32x64xf32>
    %33 = stablehlo.add %30, %32 : tensor<32x64xf32>
    %34 = stablehlo.tanh %33 : tensor<32x64xf32>
    %35 = stablehlo.subtract %cst, %34 : tensor<32x64xf32>
    %36 = stablehlo.subtract %34, %arg13 : tensor<32x64xf32>
    %37 = stablehlo.multiply %36, %36 : tensor<32x64xf32>
    %cst_0 = stablehlo.constant dense<2.000000e+00> : tensor<32x64xf32>
    %38 = stablehlo.multiply %cst_0, %36 : tensor<32x64xf32>
    %cst_1 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %39 = stablehlo.reduce(%37 init: %cst_1) applies stablehlo.add across dimensions = [0, 1] : (tensor<32x64xf32>, tensor<f32>) -> tensor<f32>
    %cst_2 = stablehlo.constant dense<2.048000e+03> : tensor<f32>
    %40 = stablehlo.divide %39, %cst_2 : tensor<f32>
    %cst_3 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %41 = stablehlo.divide %cst_3, %cst_2 : tensor<f32>
    %42 = stablehlo.broadcast_in_dim %41, dims = [] : (tensor<f32>) -> tensor<32x64xf32>
    %43 = stablehlo.multiply %42, %38 : tensor<32x64xf32>
    %44 = stablehlo.multiply %43, %35 : tensor<32x64xf32>
    %45 = stablehlo.multiply %44, %34 : tensor<32x64xf32>
    %46 = stablehlo.add %44, %45 : tensor<32x64xf32>
    %47 = stablehlo.reduce(%46 init: %cst_1) applies stablehlo.add across dimensions = [0] : (tensor<32x64xf32>, tensor<f32>) -> tensor<64xf32>
    %48 = stablehlo.reshape %47 : (tensor<64xf32>) -> tensor<1x64xf32>
    %49 = stablehlo.reduce(%48 init: %cst_1) applies stablehlo.add across dimensions = [0] : (tensor<1x64xf32>, tensor<f32>) -> tensor<64xf32>
    %50 = stablehlo.dot_general %46, %28, contracting_dims = [0] x [0], precision = [DEFAULT, DEFAULT] : (tensor<32x64xf32>, tensor<32x64xf32>) -> tensor<64x64xf32>
    %51 = stablehlo.transpose %50, dims = [1, 0] : (tensor<64x64xf32>) -> tensor<64x64xf32>
    %52 = stablehlo.dot_general %46, %arg11, contracting_dims = [1] x [1], precision = [DEFAULT, DEFAULT] : (tensor<32x64xf32>, tensor<64x64xf32>) -> tensor<32x64xf32>
    %53 = stablehlo.multiply %52, %29 : tensor<32x64xf32>
    %54 = stablehlo.multiply %53, %28 : tensor<32x64xf32>
    %55 = stablehlo.add %53, %54 : tensor<32x64xf32>
    %56 = stablehlo.reduce(%55 init: %cst_1) applies stablehlo.add across dimensions = [0] : (tensor<32x64xf32>, tensor<f32>) -> tensor<64xf32>
    %57 = stablehlo.reshape %56 : (tensor<64xf32>) -> tensor<1x64xf32>
    %58 = stablehlo.reduce(%57 init: %cst_1) applies stablehlo.add across dimensions = [0] : (tensor<1x64xf32>, tensor<f32>) -> tensor<64xf32>
    %59 = stablehlo.dot_general %55, %22, contracting_dims = [0] x [0], precision = [DEFAULT, DEFAULT] : (tensor<32x64xf32>, tensor<32x64xf32>) -> tensor<64x64xf32>
    %60 = stablehlo.transpose %59, dims = [1, 0] : (tensor<64x64xf32>) -> tensor<64x64xf32>
    %61 = stablehlo.dot_general %55, %arg9, contracting_dims = [1] x [1], precision = [DEFAULT, DEFAULT] : (tensor<32x64xf32>, tensor<64x64xf32>) -> tensor<32x64xf32>
    %62 = stablehlo.multiply %61, %23 : tensor<32x64xf32>
    %63 = stablehlo.multiply %62, %22 : tensor<32x64xf32>
    %64 = stablehlo.add %62, %63 : tensor<32x64xf32>
    %65 = stablehlo.reduce(%64 init: %cst_1) applies stablehlo.add across dimensions = [0] : (tensor<32x64xf32>, tensor<f32>) -> tensor<64xf32>
    %66 = stablehlo.reshape %65 : (tensor<64xf32>) -> tensor<1x64xf32>
    %67 = stablehlo.reduce(%66 init: %cst_1) applies stablehlo.add across dimensions = [0] : (tensor<1x64xf32>, tensor<f32>) -> tensor<64xf32>
    %68 = stablehlo.dot_general %64, %16, contracting_dims = [0] x [0], precision = [DEFAULT, DEFAULT] : (tensor<32x64xf32>, tensor<32x64xf32>) -> tensor<64x64xf32>
    %69 = stablehlo.transpose %68, dims = [1, 0] : (tensor<64x64xf32>) -> tensor<64x64xf32>
    %70 = stablehlo.dot_general %64, %arg7, contracting_dims = [1] x [1], precision = [DEFAULT, DEFAULT] : (tensor<32x64xf32>, tensor<64x64xf32>) -> tensor<32x64xf32>
    %71 = stablehlo.multiply %70, %17 : tensor<32x64xf32>
    %72 = stablehlo.multiply %71, %16 : tensor<32x64xf32>
    %73 = stablehlo.add %71, %72 : tensor<32x64xf32>
    %74 = stablehlo.reduce(%73 init: %cst_1) applies stablehlo.add across dimensions = [0] : (tensor<32x64xf32>, tensor<f32>) -> tensor<64xf32>
    %75 = stablehlo.reshape %74 : (tensor<64xf32>) -> tensor<1x64xf32>
    %76 = stablehlo.reduce(%75 init: %cst_1) applies stablehlo.add across dimensions = [0] : (tensor<1x64xf32>, tensor<f32>) -> tensor<64xf32>
    %77 = stablehlo.dot_general %73, %10, contracting_dims = [0] x [0], precision = [DEFAULT, DEFAULT] : (tensor<32x64xf32>, tensor<32x64xf32>) -> tensor<64x64xf32>
    %78 = stablehlo.transpose %77, dims = [1, 0] : (tensor<64x64xf32>) -> tensor<64x64xf32>
    %79 = stablehlo.dot_general %73, %arg5, contracting_dims = [1] x [1], precision = [DEFAULT, DEFAULT] : (tensor<32x64xf32>, tensor<64x64xf32>) -> tensor<32x64xf32>
    %80 = stablehlo.multiply %79, %11 : tensor<32x64xf32>
    %81 = stablehlo.multiply %80, %10 : tensor<32x64xf32>
    %82 = stablehlo.add %80, %81 : tensor<32x64xf32>
    %83 = stablehlo.reduce(%82 init: %cst_1) applies stablehlo.add across dimensions = [0] : (tensor<32x64xf32>, tensor<f32>) -> tensor<64xf32>
    %84 = stablehlo.reshape %83 : (tensor<64xf32>) -> tensor<1x64xf32>
    %85 = stablehlo.reduce(%84 init: %cst_1) applies stablehlo.add across dimensions = [0] : (tensor<1x64xf32>, tensor<f32>) -> tensor<64xf32>
    %86 = stablehlo.dot_general %82, %4, contracting_dims = [0] x [0], precision = [DEFAULT, DEFAULT] : (tensor<32x64xf32>, tensor<32x64xf32>) -> tensor<64x64xf32>
    %87 = stablehlo.transpose %86, dims = [1, 0] : (tensor<64x64xf32>) -> tensor<64x64xf32>
    %88 = stablehlo.dot_general %82, %arg3, contracting_dims = [1] x [1], precision = [DEFAULT, DEFAULT] : (tensor<32x64xf32>, tensor<64x64xf32>) -> tensor<32x64xf32>
    %89 = stablehlo.multiply %88, %5 : tensor<32x64xf32>
    %90 = stablehlo.multiply %89, %4 : tensor<32x64xf32>
    %91 = stablehlo.add %89, %90 : tensor<32x64xf32>
    %92 = stablehlo.reduce(%91 init: %cst_1) applies stablehlo.add across dimensions = [0] : (tensor<32x64xf32>, tensor<f32>) -> tensor<64xf32>
    %93 = stablehlo.reshape %92 : (tensor<64xf32>) -> tensor<1x64xf32>
    %94 = stablehlo.reduce(%93 init: %cst_1) applies stablehlo.add across dimensions = [0] : (tensor<1x64xf32>, tensor<f32>) -> tensor<64xf32>
    %95 = stablehlo.dot_general %91, %arg12, contracting_dims = [0] x [0], precision = [DEFAULT, DEFAULT] : (tensor<32x64xf32>, tensor<32x64xf32>) -> tensor<64x64xf32>
    %96 = stablehlo.transpose %95, dims = [1, 0] : (tensor<64x64xf32>) -> tensor<64x64xf32>
    %cst_4 = stablehlo.constant dense<1.000000e-01> : tensor<64xf32>
    %97 = stablehlo.multiply %cst_4, %94 : tensor<64xf32>
    %98 = stablehlo.subtract %arg0, %97 : tensor<64xf32>
    %cst_5 = stablehlo.constant dense<1.000000e-01> : tensor<64x64xf32>
    %99 = stablehlo.multiply %cst_5, %96 : tensor<64x64xf32>
    %100 = stablehlo.subtract %arg1, %99 : tensor<64x64xf32>
    %101 = stablehlo.multiply %cst_4, %85 : tensor<64xf32>
    %102 = stablehlo.subtract %arg2, %101 : tensor<64xf32>
    %103 = stablehlo.multiply %cst_5, %87 : tensor<64x64xf32>
    %104 = stablehlo.subtract %arg3, %103 : tensor<64x64xf32>
    %105 = stablehlo.multiply %cst_4, %76 : tensor<64xf32>
    %106 = stablehlo.subtract %arg4, %105 : tensor<64xf32>
    %107 = stablehlo.multiply %cst_5, %78 : tensor<64x64xf32>
    %108 = stablehlo.subtract %arg5, %107 : tensor<64x64xf32>
    %109 = stablehlo.multiply %cst_4, %67 : tensor<64xf32>
    %110 = stablehlo.subtract %arg6, %109 : tensor<64xf32>
    %111 = stablehlo.multiply %cst_5, %69 : tensor<64x64xf32>
    %112 = stablehlo.subtract %arg7, %111 : tensor<64x64xf32>
    %113 = stablehlo.multiply %cst_4, %58 : tensor<64xf32>
    %114 = stablehlo.subtract %arg8, %113 : tensor<64xf32>
    %115 = stablehlo.multiply %cst_5, %60 : tensor<64x64xf32>
    %116 = stablehlo.subtract %arg9, %115 : tensor<64x64xf32>
    %117 = stablehlo.multiply %cst_4, %49 : tensor<64xf32>
    %118 = stablehlo.subtract %arg10, %117 : tensor<64xf32>
    %119 = stablehlo.multiply %cst_5, %51 : tensor<64x64xf32>
    %120 = stablehlo.subtract %arg11, %119 : tensor<64x64xf32>
    return %40, %98, %100, %102, %104, %106, %108, %110, %112, %114, %116, %118, %120 : tensor<f32>, tensor<64xf32>, tensor<64x64xf32>, tensor<64xf32>, tensor<64x64xf32>, tensor<64xf32>, tensor<64x64xf32>, tensor<64xf32>, tensor<64x64xf32>, tensor<64xf32>, tensor<64x64xf32>, tensor<64xf32>, tensor<64x64xf32>
  }
}
