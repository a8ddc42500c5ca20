module @jit_step attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<256x64xf32>, %arg1: tensor<64xf32>, %arg2: tensor<128x64xi8>, %arg3: tensor<128xf32>, %arg4: tensor<64x128xi8>, %arg5: tensor<64xf32>, %arg6: tensor<64x64xi8>, %arg7: tensor<64xf32>, %arg8: tensor<64xf32>, %arg9: tensor<64xf32>, %arg10: tensor<64x64xi8>, %arg11: tensor<64xf32>, %arg12: tensor<64x64xi8>, %arg13: tensor<128xf32>, %arg14: tensor<64x128xi8>, %arg15: tensor<64xf32>, %arg16: tensor<64x64xi8>, %arg17: tensor<64xf32>, %arg18: tensor<128x64xi8>, %arg19: tensor<128xf32>, %arg20: tensor<64x128xi8>, %arg21: tensor<64xf32>, %arg22: tensor<64x64xi8>, %arg23: tensor<64xf32>, %arg24: tensor<64xf32>, %arg25: tensor<64xf32>, %arg26: tensor<64x64xi8>, %arg27: tensor<64xf32>, %arg28: tensor<64x64xi8>, %arg29: tensor<128xf32>, %arg30: tensor<64x128xi8>, %arg31: tensor<64xf32>, %arg32: tensor<64x64xi8>, %arg33: tensor<64xf32>, %arg34: tensor<2x32x4x16xf32> {tf.aliasing_output = 1 : i32}, %arg35: tensor<2x32x4x16xf32> {tf.aliasing_output = 2 : i32}, %arg36: tensor<2x32x4x16xf32> {tf.aliasing_output = 3 : i32}, %arg37: tensor<2x32x4x16xf32> {tf.aliasing_output = 4 : i32}, %arg38: tensor<i32> {tf.aliasing_output = 5 : i32}, %arg39: tensor<2xi32>) -> (tensor<2x256xf32> {olympus.result_info = "result[0]"}, tensor<2x32x4x16xf32> {olympus.result_info = "result[1]['layers'][0]['k']"}, tensor<2x32x4x16xf32> {olympus.result_info = "result[1]['layers'][0]['v']"}, tensor<2x32x4x16xf32> {olympus.result_info = "result[1]['layers'][1]['k']"}, tensor<2x32x4x16xf32> {olympus.result_info = "result[1]['layers'][1]['v']"}, tensor<i32> {olympus.result_info = "result[1]['length']"}) {
    %c = stablehlo.constant dense<0> : tensor<2xi32>
    %0 = stablehlo.compare LT, %arg39, %c, SIGNED : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi1>
    %c_0 = stablehlo.constant dense<256> : tensor<2xi32>
    %1 = stablehlo.add %arg39, %c_0 : tensor<2xi32>
    %2 = stablehlo.select %0, %1, %arg39 : tensor<2xi1>, tensor<2xi32>
    %3 = stablehlo.broadcast_in_dim %2, dims = [0] : (tensor<2xi32>) -> tensor<2x1xi32>
    %4 = "stablehlo.gather"(%arg0, %3) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, indices_are_sorted = false, slice_sizes = array<i64: 1, 64>}> : (tensor<256x64xf32>, tensor<2x1xi32>) -> tensor<2x64xf32>
    %5 = stablehlo.multiply %4, %4 : tensor<2x64xf32>
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %6 = stablehlo.reduce(%5 init: %cst) applies stablehlo.add across dimensions = [1] : (tensor<2x64xf32>, tensor<f32>) -> tensor<2xf32>
    %7 = stablehlo.broadcast_in_dim %6, dims = [0] : (tensor<2xf32>) -> tensor<2x1xf32>
    %cst_1 = stablehlo.constant dense<6.400000e+01> : tensor<2x1xf32>
    %8 = stablehlo.divide %7, %cst_1 : tensor<2x1xf32>
    %cst_2 = stablehlo.constant dense<9.99999974E-6> : tensor<2x1xf32>
    %9 = stablehlo.add %8, %cst_2 : tensor<2x1xf32>
    %10 = stablehlo.rsqrt %9 : tensor<2x1xf32>
    %11 = stablehlo.broadcast_in_dim %10, dims = [0, 1] : (tensor<2x1xf32>) -> tensor<2x64xf32>
    %12 = stablehlo.multiply %4, %11 : tensor<2x64xf32>
    %13 = stablehlo.broadcast_in_dim %arg7, dims = [1] : (tensor<64xf32>) -> tensor<2x64xf32>
    %14 = stablehlo.multiply %12, %13 : tensor<2x64xf32>
    %15 = stablehlo.convert %arg12 : (tensor<64x64xi8>) -> tensor<64x64xf32>
    %16 = stablehlo.dot_general %14, %15, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<2x64xf32>, tensor<64x64xf32>) -> tensor<2x64xf32>
    %17 = stablehlo.broadcast_in_dim %arg11, dims = [1] : (tensor<64xf32>) -> tensor<2x64xf32>
    %18 = stablehlo.multiply %16, %17 : tensor<2x64xf32>
    %19 = stablehlo.reshape %18 : (tensor<2x64xf32>) -> tensor<2x4x16xf32>
    %20 = stablehlo.convert %arg6 : (tensor<64x64xi8>) -> tensor<64x64xf32>
    %21 = stablehlo.dot_general %14, %20, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<2x64xf32>, tensor<64x64xf32>) -> tensor<2x64xf32>
    %22 = stablehlo.broadcast_in_dim %arg5, dims = [1] : (tensor<64xf32>) -> tensor<2x64xf32>
    %23 = stablehlo.multiply %21, %22 : tensor<2x64xf32>
    %24 = stablehlo.reshape %23 : (tensor<2x64xf32>) -> tensor<2x4x16xf32>
    %25 = stablehlo.broadcast_in_dim %24, dims = [0, 2, 3] : (tensor<2x4x16xf32>) -> tensor<2x1x4x16xf32>
    %c_3 = stablehlo.constant dense<0> : tensor<i32>
    %26 = stablehlo.compare LT, %arg38, %c_3, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %c_4 = stablehlo.constant dense<32> : tensor<i32>
    %27 = stablehlo.add %arg38, %c_4 : tensor<i32>
    %28 = stablehlo.select %26, %27, %arg38 : tensor<i1>, tensor<i32>
    %29 = stablehlo.dynamic_update_slice %arg34, %25, %c_3, %28, %c_3, %c_3 : (tensor<2x32x4x16xf32>, tensor<2x1x4x16xf32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<2x32x4x16xf32>
    %30 = stablehlo.convert %arg16 : (tensor<64x64xi8>) -> tensor<64x64xf32>
    %31 = stablehlo.dot_general %14, %30, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<2x64xf32>, tensor<64x64xf32>) -> tensor<2x64xf32>
    %32 = stablehlo.broadcast_in_dim %arg15, dims = [1] : (tensor<64xf32>) -> tensor<2x64xf32>
    %33 = stablehlo.multiply %31, %32 : tensor<2x64xf32>
    %34 = stablehlo.reshape %33 : (tensor<2x64xf32>) -> tensor<2x4x16xf32>
    %35 = stablehlo.broadcast_in_dim %34, dims = [0, 2, 3] : (tensor<2x4x16xf32>) -> tensor<2x1x4x16xf32>
    %36 = stablehlo.dynamic_update_slice %arg35, %35, %c_3, %28, %c_3, %c_3 : (tensor<2x32x4x16xf32>, tensor<2x1x4x16xf32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<2x32x4x16xf32>
    %37 = stablehlo.dot_general %19, %29, batching_dims = [0, 1] x [0, 2], contracting_dims = [2] x [3], precision = [DEFAULT, DEFAULT] : (tensor<2x4x16xf32>, tensor<2x32x4x16xf32>) -> tensor<2x4x32xf32>
    %cst_5 = stablehlo.constant dense<2.500000e-01> : tensor<2x4x32xf32>
    %38 = stablehlo.multiply %37, %cst_5 : tensor<2x4x32xf32>
    %39 = stablehlo.iota dim = 0 : tensor<32xi32>
    %40 = stablehlo.broadcast_in_dim %arg38, dims = [] : (tensor<i32>) -> tensor<32xi32>
    %41 = stablehlo.compare LE, %39, %40, SIGNED : (tensor<32xi32>, tensor<32xi32>) -> tensor<32xi1>
    %42 = stablehlo.broadcast_in_dim %41, dims = [2] : (tensor<32xi1>) -> tensor<2x4x32xi1>
    %cst_6 = stablehlo.constant dense<-1.000000e+30> : tensor<2x4x32xf32>
    %43 = stablehlo.select %42, %38, %cst_6 : tensor<2x4x32xi1>, tensor<2x4x32xf32>
    %cst_7 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %44 = stablehlo.reduce(%43 init: %cst_7) applies stablehlo.maximum across dimensions = [2] : (tensor<2x4x32xf32>, tensor<f32>) -> tensor<2x4xf32>
    %45 = stablehlo.broadcast_in_dim %44, dims = [0, 1] : (tensor<2x4xf32>) -> tensor<2x4x32xf32>
    %46 = stablehlo.subtract %43, %45 : tensor<2x4x32xf32>
    %47 = stablehlo.exponential %46 : tensor<2x4x32xf32>
    %48 = stablehlo.reduce(%47 init: %cst) applies stablehlo.add across dimensions = [2] : (tensor<2x4x32xf32>, tensor<f32>) -> tensor<2x4xf32>
    %49 = stablehlo.broadcast_in_dim %48, dims = [0, 1] : (tensor<2x4xf32>) -> tensor<2x4x32xf32>
    %50 = stablehlo.divide %47, %49 : tensor<2x4x32xf32>
    %51 = stablehlo.dot_general %50, %36, batching_dims = [0, 1] x [0, 2], contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<2x4x32xf32>, tensor<2x32x4x16xf32>) -> tensor<2x4x16xf32>
    %52 = stablehlo.reshape %51 : (tensor<2x4x16xf32>) -> tensor<2x64xf32>
    %53 = stablehlo.convert %arg10 : (tensor<64x64xi8>) -> tensor<64x64xf32>
    %54 = stablehlo.dot_general %52, %53, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<2x64xf32>, tensor<64x64xf32>) -> tensor<2x64xf32>
    %55 = stablehlo.broadcast_in_dim %arg9, dims = [1] : (tensor<64xf32>) -> tensor<2x64xf32>
    %56 = stablehlo.multiply %54, %55 : tensor<2x64xf32>
    %57 = stablehlo.add %4, %56 : tensor<2x64xf32>
    %58 = stablehlo.multiply %57, %57 : tensor<2x64xf32>
    %59 = stablehlo.reduce(%58 init: %cst) applies stablehlo.add across dimensions = [1] : (tensor<2x64xf32>, tensor<f32>) -> tensor<2xf32>
    %60 = stablehlo.broadcast_in_dim %59, dims = [0] : (tensor<2xf32>) -> tensor<2x1xf32>
    %61 = stablehlo.divide %60, %cst_1 : tensor<2x1xf32>
    %62 = stablehlo.add %61, %cst_2 : tensor<2x1xf32>
    %63 = stablehlo.rsqrt %62 : tensor<2x1xf32>
    %64 = stablehlo.broadcast_in_dim %63, dims = [0, 1] : (tensor<2x1xf32>) -> tensor<2x64xf32>
    %65 = stablehlo.multiply %57, %64 : tensor<2x64xf32>
    %66 = stablehlo.broadcast_in_dim %arg8, dims = [1] : (tensor<64xf32>) -> tensor<2x64xf32>
    %67 = stablehlo.multiply %65, %66 : tensor<2x64xf32>
    %68 = stablehlo.convert %arg4 : (tensor<64x128xi8>) -> tensor<64x128xf32>
    %69 = stablehlo.dot_general %67, %68, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<2x64xf32>, tensor<64x128xf32>) -> tensor<2x128xf32>
    %70 = stablehlo.broadcast_in_dim %arg3, dims = [1] : (tensor<128xf32>) -> tensor<2x128xf32>
    %71 = stablehlo.multiply %69, %70 : tensor<2x128xf32>
    %72 = stablehlo.logistic %71 : tensor<2x128xf32>
    %73 = stablehlo.multiply %71, %72 : tensor<2x128xf32>
    %74 = stablehlo.convert %arg14 : (tensor<64x128xi8>) -> tensor<64x128xf32>
    %75 = stablehlo.dot_general %67, %74, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<2x64xf32>, tensor<64x128xf32>) -> tensor<2x128xf32>
    %76 = stablehlo.broadcast_in_dim %arg13, dims = [1] : (tensor<128xf32>) -> tensor<2x128xf32>
    %77 = stablehlo.multiply %75, %76 : tensor<2x128xf32>
    %78 = stablehlo.multiply %73, %77 : tensor<2x128xf32>
    %79 = stablehlo.convert %arg2 : (tensor<128x64xi8>) -> tensor<128x64xf32>
    %80 = stablehlo.dot_general %78, %79, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<2x128xf32>, tensor<128x64xf32>) -> tensor<2x64xf32>
    %81 = stablehlo.broadcast_in_dim %arg1, dims = [1] : (tensor<64xf32>) -> tensor<2x64xf32>
    %82 = stablehlo.multiply %80, %81 : tensor<2x64xf32>
    %83 = stablehlo.add %57, %82 : tensor<2x64xf32>
    %84 = stablehlo.multiply %83, %83 : tensor<2x64xf32>
    %85 = stablehlo.reduce(%84 init: %cst) applies stablehlo.add across dimensions = [1] : (tensor<2x64xf32>, tensor<f32>) -> tensor<2xf32>
    %86 = stablehlo.broadcast_in_dim %85, dims = [0] : (tensor<2xf32>) -> tensor<2x1xf32>
    %87 = stablehlo.divide %86, %cst_1 : tensor<2x1xf32>
    %88 = stablehlo.add %87, %cst_2 : tensor<2x1xf32>
    %89 = stablehlo.rsqrt %88 : tensor<2x1xf32>
    %90 = stablehlo.broadcast_in_dim %89, dims = [0, 1] : (tensor<2x1xf32>) -> tensor<2x64xf32>
    %91 = stablehlo.multiply %83, %90 : tensor<2x64xf32>
    %92 = stablehlo.broadcast_in_dim %arg23, dims = [1] : (tensor<64xf32>) -> tensor<2x64xf32>
    %93 = stablehlo.multiply %91, %92 : tensor<2x64xf32>
    %94 = stablehlo.convert %arg28 : (tensor<64x64xi8>) -> tensor<64x64xf32>
    %95 = stablehlo.dot_general %93, %94, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<2x64xf32>, tensor<64x64xf32>) -> tensor<2x64xf32>
    %96 = stablehlo.broadcast_in_dim %arg27, dims = [1] : (tensor<64xf32>) -> tensor<2x64xf32>
    %97 = stablehlo.multiply %95, %96 : tensor<2x64xf32>
    %98 = stablehlo.reshape %97 : (tensor<2x64xf32>) -> tensor<2x4x16xf32>
    %99 = stablehlo.convert %arg22 : (tensor<64x64xi8>) -> tensor<64x64xf32>
    %100 = stablehlo.dot_general %93, %99, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<2x64xf32>, tensor<64x64xf32>) -> tensor<2x64xf32>
    %101 = stablehlo.broadcast_in_dim %arg21, dims = [1] : (tensor<64xf32>) -> tensor<2x64xf32>
    %102 = stablehlo.multiply %100, %101 : tensor<2x64xf32>
    %103 = stablehlo.reshape %102 : (tensor<2x64xf32>) -> tensor<2x4x16xf32>
    %104 = stablehlo.broadcast_in_dim %103, dims = [0, 2, 3] : (tensor<2x4x16xf32>) -> tensor<2x1x4x16xf32>
    %105 = stablehlo.dynamic_update_slice %arg36, %104, %c_3, %28, %c_3, %c_3 : (tensor<2x32x4x16xf32>, tensor<2x1x4x16xf32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<2x32x4x16xf32>
    %106 = stablehlo.convert %arg32 : (tensor<64x64xi8>) -> tensor<64x64xf32>
    %107 = stablehlo.dot_general %93, %106, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<2x64xf32>, tensor<64x64xf32>) -> tensor<2x64xf32>
    %108 = stablehlo.broadcast_in_dim %arg31, dims = [1] : (tensor<64xf32>) -> tensor<2x64xf32>
    %109 = stablehlo.multiply %107, %108 : tensor<2x64xf32>
    %110 = stablehlo.reshape %109 : (tensor<2x64xf32>) -> tensor<2x4x16xf32>
    %111 = stablehlo.broadcast_in_dim %110, dims = [0, 2, 3] : (tensor<2x4x16xf32>) -> tensor<2x1x4x16xf32>
    %112 = stablehlo.dynamic_update_slice %arg37, %111, %c_3, %28, %c_3, %c_3 : (tensor<2x32x4x16xf32>, tensor<2x1x4x16xf32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<2x32x4x16xf32>
    %113 = stablehlo.dot_general %98, %105, batching_dims = [0, 1] x [0, 2], contracting_dims = [2] x [3], precision = [DEFAULT, DEFAULT] : (tensor<2x4x16xf32>, tensor<2x32x4x16xf32>) -> tensor<2x4x32xf32>
    %114 = stablehlo.multiply %113, %cst_5 : tensor<2x4x32xf32>
    %115 = stablehlo.select %42, %114, %cst_6 : tensor<2x4x32xi1>, tensor<2x4x32xf32>
    %116 = stablehlo.reduce(%115 init: %cst_7) applies stablehlo.maximum across dimensions = [2] : (tensor<2x4x32xf32>, tensor<f32>) -> tensor<2x4xf32>
    %117 = stablehlo.broadcast_in_dim %116, dims = [0, 1] : (tensor<2x4xf32>) -> tensor<2x4x32xf32>
    %118 = stablehlo.subtract %115, %117 : tensor<2x4x32xf32>
    %119 = stablehlo.exponential %118 : tensor<2x4x32xf32>
    %120 = stablehlo.reduce(%119 init: %cst) applies stablehlo.add across dimensions = [2] : (tensor<2x4x32xf32>, tensor<f32>) -> tensor<2x4xf32>
    %121 = stablehlo.broadcast_in_dim %120, dims = [0, 1] : (tensor<2x4xf32>) -> tensor<2x4x32xf32>
    %122 = stablehlo.divide %119, %121 : tensor<2x4x32xf32>
    %123 = stablehlo.dot_general %122, %112, batching_dims = [0, 1] x [0, 2], contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<2x4x32xf32>, tensor<2x32x4x16xf32>) -> tensor<2x4x16xf32>
    %124 = stablehlo.reshape %123 : (tensor<2x4x16xf32>) -> tensor<2x64xf32>
    %125 = stablehlo.convert %arg26 : (tensor<64x64xi8>) -> tensor<64x64xf32>
    %126 = stablehlo.dot_general %124, %125, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<2x64xf32>, tensor<64x64xf32>) -> tensor<2x64xf32>
    %127 = stablehlo.broadcast_in_dim %arg25, dims = [1] : (tensor<64xf32>) -> tensor<2x64xf32>
    %128 = stablehlo.multiply %126, %127 : tensor<2x64xf32>
    %129 = stablehlo.add %83, %128 : tensor<2x64xf32>
    %130 = stablehlo.multiply %129, %129 : tensor<2x64xf32>
    %131 = stablehlo.reduce(%130 init: %cst) applies stablehlo.add across dimensions = [1] : (tensor<2x64xf32>, tensor<f32>) -> tensor<2xf32>
    %132 = stablehlo.broadcast_in_dim %131, dims = [0] : (tensor<2xf32>) -> tensor<2x1xf32>
    %133 = stablehlo.divide %132, %cst_1 : tensor<2x1xf32>
    %134 = stablehlo.add %133, %cst_2 : tensor<2x1xf32>
    %135 = stablehlo.rsqrt %134 : tensor<2x1xf32>
    %136 = stablehlo.broadcast_in_dim %135, dims = [0, 1] : (tensor<2x1xf32>) -> tensor<2x64xf32>
    %137 = stablehlo.multiply %129, %136 : tensor<2x64xf32>
    %138 = stablehlo.broadcast_in_dim %arg24, dims = [1] : (tensor<64xf32>) -> tensor<2x64xf32>
    %139 = stablehlo.multiply %137, %138 : tensor<2x64xf32>
    %140 = stablehlo.convert %arg20 : (tensor<64x128xi8>) -> tensor<64x128xf32>
    %141 = stablehlo.dot_general %139, %140, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<2x64xf32>, tensor<64x128xf32>) -> tensor<2x128xf32>
    %142 = stablehlo.broadcast_in_dim %arg19, dims = [1] : (tensor<128xf32>) -> tensor<2x128xf32>
    %143 = stablehlo.multiply %141, %142 : tensor<2x128xf32>
    %144 = stablehlo.logistic %143 : tensor<2x128xf32>
    %145 = stablehlo.multiply %143, %144 : tensor<2x128xf32>
    %146 = stablehlo.convert %arg30 : (tensor<64x128xi8>) -> tensor<64x128xf32>
    %147 = stablehlo.dot_general %139, %146, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<2x64xf32>, tensor<64x128xf32>) -> tensor<2x128xf32>
    %148 = stablehlo.broadcast_in_dim %arg29, dims = [1] : (tensor<128xf32>) -> tensor<2x128xf32>
    %149 = stablehlo.multiply %147, %148 : tensor<2x128xf32>
    %150 = stablehlo.multiply %145, %149 : tensor<2x128xf32>
    %151 = stablehlo.convert %arg18 : (tensor<128x64xi8>) -> tensor<128x64xf32>
    %152 = stablehlo.dot_general %150, %151, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<2x128xf32>, tensor<128x64xf32>) -> tensor<2x64xf32>
    %153 = stablehlo.broadcast_in_dim %arg17, dims = [1] : (tensor<64xf32>) -> tensor<2x64xf32>
    %154 = stablehlo.multiply %152, %153 : tensor<2x64xf32>
    %155 = stablehlo.add %129, %154 : tensor<2x64xf32>
    %156 = stablehlo.multiply %155, %155 : tensor<2x64xf32>
    %157 = stablehlo.reduce(%156 init: %cst) applies stablehlo.add across dimensions = [1] : (tensor<2x64xf32>, tensor<f32>) -> tensor<2xf32>
    %158 = stablehlo.broadcast_in_dim %157, dims = [0] : (tensor<2xf32>) -> tensor<2x1xf32>
    %159 = stablehlo.divide %158, %cst_1 : tensor<2x1xf32>
    %160 = stablehlo.add %159, %cst_2 : tensor<2x1xf32>
    %161 = stablehlo.rsqrt %160 : tensor<2x1xf32>
    %162 = stablehlo.broadcast_in_dim %161, dims = [0, 1] : (tensor<2x1xf32>) -> tensor<2x64xf32>
    %163 = stablehlo.multiply %155, %162 : tensor<2x64xf32>
    %164 = stablehlo.broadcast_in_dim %arg33, dims = [1] : (tensor<64xf32>) -> tensor<2x64xf32>
    %165 = stablehlo.multiply %163, %164 : tensor<2x64xf32>
    %166 = stablehlo.transpose %arg0, dims = [1, 0] : (tensor<256x64xf32>) -> tensor<64x256xf32>
    %167 = stablehlo.dot_general %165, %166, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<2x64xf32>, tensor<64x256xf32>) -> tensor<2x256xf32>
    %c_8 = stablehlo.constant dense<1> : tensor<i32>
    %168 = stablehlo.add %arg38, %c_8 : tensor<i32>
    return %167, %29, %36, %105, %112, %168 : tensor<2x256xf32>, tensor<2x32x4x16xf32>, tensor<2x32x4x16xf32>, tensor<2x32x4x16xf32>, tensor<2x32x4x16xf32>, tensor<i32>
  }
}
