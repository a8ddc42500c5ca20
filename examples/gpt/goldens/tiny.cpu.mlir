module @jit_forward attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<64xf32>, %arg1: tensor<64x64xf32>, %arg2: tensor<192xf32>, %arg3: tensor<64x192xf32>, %arg4: tensor<64xf32>, %arg5: tensor<64xf32>, %arg6: tensor<64xf32>, %arg7: tensor<64xf32>, %arg8: tensor<256xf32>, %arg9: tensor<64x256xf32>, %arg10: tensor<64xf32>, %arg11: tensor<256x64xf32>, %arg12: tensor<64xf32>, %arg13: tensor<64x64xf32>, %arg14: tensor<192xf32>, %arg15: tensor<64x192xf32>, %arg16: tensor<64xf32>, %arg17: tensor<64xf32>, %arg18: tensor<64xf32>, %arg19: tensor<64xf32>, %arg20: tensor<256xf32>, %arg21: tensor<64x256xf32>, %arg22: tensor<64xf32>, %arg23: tensor<256x64xf32>, %arg24: tensor<64xf32>, %arg25: tensor<64xf32>, %arg26: tensor<64x64xf32>, %arg27: tensor<256x64xf32>, %arg28: tensor<4x64xi32>) -> (tensor<4x64x256xf32> {olympus.result_info = "result"}) {
    %c = stablehlo.constant dense<0> : tensor<4x64xi32>
    %0 = stablehlo.compare LT, %arg28, %c, SIGNED : (tensor<4x64xi32>, tensor<4x64xi32>) -> tensor<4x64xi1>
    %c_0 = stablehlo.constant dense<256> : tensor<4x64xi32>
    %1 = stablehlo.add %arg28, %c_0 : tensor<4x64xi32>
    %2 = stablehlo.select %0, %1, %arg28 : tensor<4x64xi1>, tensor<4x64xi32>
    %3 = stablehlo.broadcast_in_dim %2, dims = [0, 1] : (tensor<4x64xi32>) -> tensor<4x64x1xi32>
    %4 = "stablehlo.gather"(%arg27, %3) <{dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 2>, indices_are_sorted = false, slice_sizes = array<i64: 1, 64>}> : (tensor<256x64xf32>, tensor<4x64x1xi32>) -> tensor<4x64x64xf32>
    %5 = stablehlo.broadcast_in_dim %arg26, dims = [1, 2] : (tensor<64x64xf32>) -> tensor<4x64x64xf32>
    %6 = stablehlo.add %4, %5 : tensor<4x64x64xf32>
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %7 = stablehlo.reduce(%6 init: %cst) applies stablehlo.add across dimensions = [2] : (tensor<4x64x64xf32>, tensor<f32>) -> tensor<4x64xf32>
    %8 = stablehlo.broadcast_in_dim %7, dims = [0, 1] : (tensor<4x64xf32>) -> tensor<4x64x1xf32>
    %cst_1 = stablehlo.constant dense<6.400000e+01> : tensor<4x64x1xf32>
    %9 = stablehlo.divide %8, %cst_1 : tensor<4x64x1xf32>
    %10 = stablehlo.broadcast_in_dim %9, dims = [0, 1, 2] : (tensor<4x64x1xf32>) -> tensor<4x64x64xf32>
    %11 = stablehlo.subtract %6, %10 : tensor<4x64x64xf32>
    %12 = stablehlo.multiply %11, %11 : tensor<4x64x64xf32>
    %13 = stablehlo.reduce(%12 init: %cst) applies stablehlo.add across dimensions = [2] : (tensor<4x64x64xf32>, tensor<f32>) -> tensor<4x64xf32>
    %cst_2 = stablehlo.constant dense<6.400000e+01> : tensor<4x64xf32>
    %14 = stablehlo.divide %13, %cst_2 : tensor<4x64xf32>
    %15 = stablehlo.broadcast_in_dim %14, dims = [0, 1] : (tensor<4x64xf32>) -> tensor<4x64x1xf32>
    %cst_3 = stablehlo.constant dense<9.99999974E-6> : tensor<4x64x1xf32>
    %16 = stablehlo.add %15, %cst_3 : tensor<4x64x1xf32>
    %17 = stablehlo.rsqrt %16 : tensor<4x64x1xf32>
    %18 = stablehlo.broadcast_in_dim %17, dims = [0, 1, 2] : (tensor<4x64x1xf32>) -> tensor<4x64x64xf32>
    %19 = stablehlo.multiply %11, %18 : tensor<4x64x64xf32>
    %20 = stablehlo.broadcast_in_dim %arg5, dims = [2] : (tensor<64xf32>) -> tensor<4x64x64xf32>
    %21 = stablehlo.multiply %19, %20 : tensor<4x64x64xf32>
    %22 = stablehlo.broadcast_in_dim %arg4, dims = [2] : (tensor<64xf32>) -> tensor<4x64x64xf32>
    %23 = stablehlo.add %21, %22 : tensor<4x64x64xf32>
    %24 = stablehlo.dot_general %23, %arg3, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<4x64x64xf32>, tensor<64x192xf32>) -> tensor<4x64x192xf32>
    %25 = stablehlo.broadcast_in_dim %arg2, dims = [2] : (tensor<192xf32>) -> tensor<4x64x192xf32>
    %26 = stablehlo.add %24, %25 : tensor<4x64x192xf32>
    %27 = stablehlo.slice %26 [0:4, 0:64, 0:64] : (tensor<4x64x192xf32>) -> tensor<4x64x64xf32>
    %28 = stablehlo.slice %26 [0:4, 0:64, 64:128] : (tensor<4x64x192xf32>) -> tensor<4x64x64xf32>
    %29 = stablehlo.slice %26 [0:4, 0:64, 128:192] : (tensor<4x64x192xf32>) -> tensor<4x64x64xf32>
    %30 = stablehlo.reshape %27 : (tensor<4x64x64xf32>) -> tensor<4x64x4x16xf32>
    %31 = stablehlo.transpose %30, dims = [0, 2, 1, 3] : (tensor<4x64x4x16xf32>) -> tensor<4x4x64x16xf32>
    %32 = stablehlo.reshape %28 : (tensor<4x64x64xf32>) -> tensor<4x64x4x16xf32>
    %33 = stablehlo.transpose %32, dims = [0, 2, 1, 3] : (tensor<4x64x4x16xf32>) -> tensor<4x4x64x16xf32>
    %34 = stablehlo.reshape %29 : (tensor<4x64x64xf32>) -> tensor<4x64x4x16xf32>
    %35 = stablehlo.transpose %34, dims = [0, 2, 1, 3] : (tensor<4x64x4x16xf32>) -> tensor<4x4x64x16xf32>
    %36 = stablehlo.transpose %33, dims = [0, 1, 3, 2] : (tensor<4x4x64x16xf32>) -> tensor<4x4x16x64xf32>
    %37 = stablehlo.dot_general %31, %36, batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [2], precision = [DEFAULT, DEFAULT] : (tensor<4x4x64x16xf32>, tensor<4x4x16x64xf32>) -> tensor<4x4x64x64xf32>
    %cst_4 = stablehlo.constant dense<4.000000e+00> : tensor<4x4x64x64xf32>
    %38 = stablehlo.divide %37, %cst_4 : tensor<4x4x64x64xf32>
    %c_5 = stablehlo.constant dense<true> : tensor<64x64xi1>
    %39 = stablehlo.iota dim = 0 : tensor<64x64xi32>
    %40 = stablehlo.iota dim = 1 : tensor<64x64xi32>
    %41 = stablehlo.compare GE, %39, %40, SIGNED : (tensor<64x64xi32>, tensor<64x64xi32>) -> tensor<64x64xi1>
    %c_6 = stablehlo.constant dense<false> : tensor<64x64xi1>
    %42 = stablehlo.select %41, %c_5, %c_6 : tensor<64x64xi1>, tensor<64x64xi1>
    %43 = stablehlo.broadcast_in_dim %42, dims = [2, 3] : (tensor<64x64xi1>) -> tensor<4x4x64x64xi1>
    %cst_7 = stablehlo.constant dense<0xFF800000> : tensor<4x4x64x64xf32>
    %44 = stablehlo.select %43, %38, %cst_7 : tensor<4x4x64x64xi1>, tensor<4x4x64x64xf32>
    %cst_8 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %45 = stablehlo.reduce(%44 init: %cst_8) applies stablehlo.maximum across dimensions = [3] : (tensor<4x4x64x64xf32>, tensor<f32>) -> tensor<4x4x64xf32>
    %46 = stablehlo.broadcast_in_dim %45, dims = [0, 1, 2] : (tensor<4x4x64xf32>) -> tensor<4x4x64x64xf32>
    %47 = stablehlo.subtract %44, %46 : tensor<4x4x64x64xf32>
    %48 = stablehlo.exponential %47 : tensor<4x4x64x64xf32>
    %49 = stablehlo.reduce(%48 init: %cst) applies stablehlo.add across dimensions = [3] : (tensor<4x4x64x64xf32>, tensor<f32>) -> tensor<4x4x64xf32>
    %50 = stablehlo.broadcast_in_dim %49, dims = [0, 1, 2] : (tensor<4x4x64xf32>) -> tensor<4x4x64x64xf32>
    %51 = stablehlo.divide %48, %50 : tensor<4x4x64x64xf32>
    %52 = stablehlo.dot_general %51, %35, batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [2], precision = [DEFAULT, DEFAULT] : (tensor<4x4x64x64xf32>, tensor<4x4x64x16xf32>) -> tensor<4x4x64x16xf32>
    %53 = stablehlo.transpose %52, dims = [0, 2, 1, 3] : (tensor<4x4x64x16xf32>) -> tensor<4x64x4x16xf32>
    %54 = stablehlo.reshape %53 : (tensor<4x64x4x16xf32>) -> tensor<4x64x64xf32>
    %55 = stablehlo.dot_general %54, %arg1, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<4x64x64xf32>, tensor<64x64xf32>) -> tensor<4x64x64xf32>
    %56 = stablehlo.broadcast_in_dim %arg0, dims = [2] : (tensor<64xf32>) -> tensor<4x64x64xf32>
    %57 = stablehlo.add %55, %56 : tensor<4x64x64xf32>
    %58 = stablehlo.add %6, %57 : tensor<4x64x64xf32>
    %59 = stablehlo.reduce(%58 init: %cst) applies stablehlo.add across dimensions = [2] : (tensor<4x64x64xf32>, tensor<f32>) -> tensor<4x64xf32>
    %60 = stablehlo.broadcast_in_dim %59, dims = [0, 1] : (tensor<4x64xf32>) -> tensor<4x64x1xf32>
    %61 = stablehlo.divide %60, %cst_1 : tensor<4x64x1xf32>
    %62 = stablehlo.broadcast_in_dim %61, dims = [0, 1, 2] : (tensor<4x64x1xf32>) -> tensor<4x64x64xf32>
    %63 = stablehlo.subtract %58, %62 : tensor<4x64x64xf32>
    %64 = stablehlo.multiply %63, %63 : tensor<4x64x64xf32>
    %65 = stablehlo.reduce(%64 init: %cst) applies stablehlo.add across dimensions = [2] : (tensor<4x64x64xf32>, tensor<f32>) -> tensor<4x64xf32>
    %66 = stablehlo.divide %65, %cst_2 : tensor<4x64xf32>
    %67 = stablehlo.broadcast_in_dim %66, dims = [0, 1] : (tensor<4x64xf32>) -> tensor<4x64x1xf32>
    %68 = stablehlo.add %67, %cst_3 : tensor<4x64x1xf32>
    %69 = stablehlo.rsqrt %68 : tensor<4x64x1xf32>
    %70 = stablehlo.broadcast_in_dim %69, dims = [0, 1, 2] : (tensor<4x64x1xf32>) -> tensor<4x64x64xf32>
    %71 = stablehlo.multiply %63, %70 : tensor<4x64x64xf32>
    %72 = stablehlo.broadcast_in_dim %arg7, dims = [2] : (tensor<64xf32>) -> tensor<4x64x64xf32>
    %73 = stablehlo.multiply %71, %72 : tensor<4x64x64xf32>
    %74 = stablehlo.broadcast_in_dim %arg6, dims = [2] : (tensor<64xf32>) -> tensor<4x64x64xf32>
    %75 = stablehlo.add %73, %74 : tensor<4x64x64xf32>
    %76 = stablehlo.dot_general %75, %arg9, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<4x64x64xf32>, tensor<64x256xf32>) -> tensor<4x64x256xf32>
    %77 = stablehlo.broadcast_in_dim %arg8, dims = [2] : (tensor<256xf32>) -> tensor<4x64x256xf32>
    %78 = stablehlo.add %76, %77 : tensor<4x64x256xf32>
    %79 = stablehlo.multiply %78, %78 : tensor<4x64x256xf32>
    %80 = stablehlo.multiply %78, %79 : tensor<4x64x256xf32>
    %cst_9 = stablehlo.constant dense<4.471500e-02> : tensor<4x64x256xf32>
    %81 = stablehlo.multiply %cst_9, %80 : tensor<4x64x256xf32>
    %82 = stablehlo.add %78, %81 : tensor<4x64x256xf32>
    %cst_10 = stablehlo.constant dense<0.797884583> : tensor<4x64x256xf32>
    %83 = stablehlo.multiply %cst_10, %82 : tensor<4x64x256xf32>
    %84 = stablehlo.tanh %83 : tensor<4x64x256xf32>
    %cst_11 = stablehlo.constant dense<1.000000e+00> : tensor<4x64x256xf32>
    %85 = stablehlo.add %cst_11, %84 : tensor<4x64x256xf32>
    %cst_12 = stablehlo.constant dense<5.000000e-01> : tensor<4x64x256xf32>
    %86 = stablehlo.multiply %cst_12, %85 : tensor<4x64x256xf32>
    %87 = stablehlo.multiply %78, %86 : tensor<4x64x256xf32>
    %88 = stablehlo.dot_general %87, %arg11, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<4x64x256xf32>, tensor<256x64xf32>) -> tensor<4x64x64xf32>
    %89 = stablehlo.broadcast_in_dim %arg10, dims = [2] : (tensor<64xf32>) -> tensor<4x64x64xf32>
    %90 = stablehlo.add %88, %89 : tensor<4x64x64xf32>
    %91 = stablehlo.add %58, %90 : tensor<4x64x64xf32>
    %92 = stablehlo.reduce(%91 init: %cst) applies stablehlo.add across dimensions = [2] : (tensor<4x64x64xf32>, tensor<f32>) -> tensor<4x64xf32>
    %93 = stablehlo.broadcast_in_dim %92, dims = [0, 1] : (tensor<4x64xf32>) -> tensor<4x64x1xf32>
    %94 = stablehlo.divide %93, %cst_1 : tensor<4x64x1xf32>
    %95 = stablehlo.broadcast_in_dim %94, dims = [0, 1, 2] : (tensor<4x64x1xf32>) -> tensor<4x64x64xf32>
    %96 = stablehlo.subtract %91, %95 : tensor<4x64x64xf32>
    %97 = stablehlo.multiply %96, %96 : tensor<4x64x64xf32>
    %98 = stablehlo.reduce(%97 init: %cst) applies stablehlo.add across dimensions = [2] : (tensor<4x64x64xf32>, tensor<f32>) -> tensor<4x64xf32>
    %99 = stablehlo.divide %98, %cst_2 : tensor<4x64xf32>
    %100 = stablehlo.broadcast_in_dim %99, dims = [0, 1] : (tensor<4x64xf32>) -> tensor<4x64x1xf32>
    %101 = stablehlo.add %100, %cst_3 : tensor<4x64x1xf32>
    %102 = stablehlo.rsqrt %101 : tensor<4x64x1xf32>
    %103 = stablehlo.broadcast_in_dim %102, dims = [0, 1, 2] : (tensor<4x64x1xf32>) -> tensor<4x64x64xf32>
    %104 = stablehlo.multiply %96, %103 : tensor<4x64x64xf32>
    %105 = stablehlo.broadcast_in_dim %arg17, dims = [2] : (tensor<64xf32>) -> tensor<4x64x64xf32>
    %106 = stablehlo.multiply %104, %105 : tensor<4x64x64xf32>
    %107 = stablehlo.broadcast_in_dim %arg16, dims = [2] : (tensor<64xf32>) -> tensor<4x64x64xf32>
    %108 = stablehlo.add %106, %107 : tensor<4x64x64xf32>
    %109 = stablehlo.dot_general %108, %arg15, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<4x64x64xf32>, tensor<64x192xf32>) -> tensor<4x64x192xf32>
    %110 = stablehlo.broadcast_in_dim %arg14, dims = [2] : (tensor<192xf32>) -> tensor<4x64x192xf32>
    %111 = stablehlo.add %109, %110 : tensor<4x64x192xf32>
    %112 = stablehlo.slice %111 [0:4, 0:64, 0:64] : (tensor<4x64x192xf32>) -> tensor<4x64x64xf32>
    %113 = stablehlo.slice %111 [0:4, 0:64, 64:128] : (tensor<4x64x192xf32>) -> tensor<4x64x64xf32>
    %114 = stablehlo.slice %111 [0:4, 0:64, 128:192] : (tensor<4x64x192xf32>) -> tensor<4x64x64xf32>
    %115 = stablehlo.reshape %112 : (tensor<4x64x64xf32>) -> tensor<4x64x4x16xf32>
    %116 = stablehlo.transpose %115, dims = [0, 2, 1, 3] : (tensor<4x64x4x16xf32>) -> tensor<4x4x64x16xf32>
    %117 = stablehlo.reshape %113 : (tensor<4x64x64xf32>) -> tensor<4x64x4x16xf32>
    %118 = stablehlo.transpose %117, dims = [0, 2, 1, 3] : (tensor<4x64x4x16xf32>) -> tensor<4x4x64x16xf32>
    %119 = stablehlo.reshape %114 : (tensor<4x64x64xf32>) -> tensor<4x64x4x16xf32>
    %120 = stablehlo.transpose %119, dims = [0, 2, 1, 3] : (tensor<4x64x4x16xf32>) -> tensor<4x4x64x16xf32>
    %121 = stablehlo.transpose %118, dims = [0, 1, 3, 2] : (tensor<4x4x64x16xf32>) -> tensor<4x4x16x64xf32>
    %122 = stablehlo.dot_general %116, %121, batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [2], precision = [DEFAULT, DEFAULT] : (tensor<4x4x64x16xf32>, tensor<4x4x16x64xf32>) -> tensor<4x4x64x64xf32>
    %123 = stablehlo.divide %122, %cst_4 : tensor<4x4x64x64xf32>
    %124 = stablehlo.select %43, %123, %cst_7 : tensor<4x4x64x64xi1>, tensor<4x4x64x64xf32>
    %125 = stablehlo.reduce(%124 init: %cst_8) applies stablehlo.maximum across dimensions = [3] : (tensor<4x4x64x64xf32>, tensor<f32>) -> tensor<4x4x64xf32>
    %126 = stablehlo.broadcast_in_dim %125, dims = [0, 1, 2] : (tensor<4x4x64xf32>) -> tensor<4x4x64x64xf32>
    %127 = stablehlo.subtract %124, %126 : tensor<4x4x64x64xf32>
    %128 = stablehlo.exponential %127 : tensor<4x4x64x64xf32>
    %129 = stablehlo.reduce(%128 init: %cst) applies stablehlo.add across dimensions = [3] : (tensor<4x4x64x64xf32>, tensor<f32>) -> tensor<4x4x64xf32>
    %130 = stablehlo.broadcast_in_dim %129, dims = [0, 1, 2] : (tensor<4x4x64xf32>) -> tensor<4x4x64x64xf32>
    %131 = stablehlo.divide %128, %130 : tensor<4x4x64x64xf32>
    %132 = stablehlo.dot_general %131, %120, batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [2], precision = [DEFAULT, DEFAULT] : (tensor<4x4x64x64xf32>, tensor<4x4x64x16xf32>) -> tensor<4x4x64x16xf32>
    %133 = stablehlo.transpose %132, dims = [0, 2, 1, 3] : (tensor<4x4x64x16xf32>) -> tensor<4x64x4x16xf32>
    %134 = stablehlo.reshape %133 : (tensor<4x64x4x16xf32>) -> tensor<4x64x64xf32>
    %135 = stablehlo.dot_general %134, %arg13, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<4x64x64xf32>, tensor<64x64xf32>) -> tensor<4x64x64xf32>
    %136 = stablehlo.broadcast_in_dim %arg12, dims = [2] : (tensor<64xf32>) -> tensor<4x64x64xf32>
    %137 = stablehlo.add %135, %136 : tensor<4x64x64xf32>
    %138 = stablehlo.add %91, %137 : tensor<4x64x64xf32>
    %139 = stablehlo.reduce(%138 init: %cst) applies stablehlo.add across dimensions = [2] : (tensor<4x64x64xf32>, tensor<f32>) -> tensor<4x64xf32>
    %140 = stablehlo.broadcast_in_dim %139, dims = [0, 1] : (tensor<4x64xf32>) -> tensor<4x64x1xf32>
    %141 = stablehlo.divide %140, %cst_1 : tensor<4x64x1xf32>
    %142 = stablehlo.broadcast_in_dim %141, dims = [0, 1, 2] : (tensor<4x64x1xf32>) -> tensor<4x64x64xf32>
    %143 = stablehlo.subtract %138, %142 : tensor<4x64x64xf32>
    %144 = stablehlo.multiply %143, %143 : tensor<4x64x64xf32>
    %145 = stablehlo.reduce(%144 init: %cst) applies stablehlo.add across dimensions = [2] : (tensor<4x64x64xf32>, tensor<f32>) -> tensor<4x64xf32>
    %146 = stablehlo.divide %145, %cst_2 : tensor<4x64xf32>
    %147 = stablehlo.broadcast_in_dim %146, dims = [0, 1] : (tensor<4x64xf32>) -> tensor<4x64x1xf32>
    %148 = stablehlo.add %147, %cst_3 : tensor<4x64x1xf32>
    %149 = stablehlo.rsqrt %148 : tensor<4x64x1xf32>
    %150 = stablehlo.broadcast_in_dim %149, dims = [0, 1, 2] : (tensor<4x64x1xf32>) -> tensor<4x64x64xf32>
    %151 = stablehlo.multiply %143, %150 : tensor<4x64x64xf32>
    %152 = stablehlo.broadcast_in_dim %arg19, dims = [2] : (tensor<64xf32>) -> tensor<4x64x64xf32>
    %153 = stablehlo.multiply %151, %152 : tensor<4x64x64xf32>
    %154 = stablehlo.broadcast_in_dim %arg18, dims = [2] : (tensor<64xf32>) -> tensor<4x64x64xf32>
    %155 = stablehlo.add %153, %154 : tensor<4x64x64xf32>
    %156 = stablehlo.dot_general %155, %arg21, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<4x64x64xf32>, tensor<64x256xf32>) -> tensor<4x64x256xf32>
    %157 = stablehlo.broadcast_in_dim %arg20, dims = [2] : (tensor<256xf32>) -> tensor<4x64x256xf32>
    %158 = stablehlo.add %156, %157 : tensor<4x64x256xf32>
    %159 = stablehlo.multiply %158, %158 : tensor<4x64x256xf32>
    %160 = stablehlo.multiply %158, %159 : tensor<4x64x256xf32>
    %161 = stablehlo.multiply %cst_9, %160 : tensor<4x64x256xf32>
    %162 = stablehlo.add %158, %161 : tensor<4x64x256xf32>
    %163 = stablehlo.multiply %cst_10, %162 : tensor<4x64x256xf32>
    %164 = stablehlo.tanh %163 : tensor<4x64x256xf32>
    %165 = stablehlo.add %cst_11, %164 : tensor<4x64x256xf32>
    %166 = stablehlo.multiply %cst_12, %165 : tensor<4x64x256xf32>
    %167 = stablehlo.multiply %158, %166 : tensor<4x64x256xf32>
    %168 = stablehlo.dot_general %167, %arg23, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<4x64x256xf32>, tensor<256x64xf32>) -> tensor<4x64x64xf32>
    %169 = stablehlo.broadcast_in_dim %arg22, dims = [2] : (tensor<64xf32>) -> tensor<4x64x64xf32>
    %170 = stablehlo.add %168, %169 : tensor<4x64x64xf32>
    %171 = stablehlo.add %138, %170 : tensor<4x64x64xf32>
    %172 = stablehlo.reduce(%171 init: %cst) applies stablehlo.add across dimensions = [2] : (tensor<4x64x64xf32>, tensor<f32>) -> tensor<4x64xf32>
    %173 = stablehlo.broadcast_in_dim %172, dims = [0, 1] : (tensor<4x64xf32>) -> tensor<4x64x1xf32>
    %174 = stablehlo.divide %173, %cst_1 : tensor<4x64x1xf32>
    %175 = stablehlo.broadcast_in_dim %174, dims = [0, 1, 2] : (tensor<4x64x1xf32>) -> tensor<4x64x64xf32>
    %176 = stablehlo.subtract %171, %175 : tensor<4x64x64xf32>
    %177 = stablehlo.multiply %176, %176 : tensor<4x64x64xf32>
    %178 = stablehlo.reduce(%177 init: %cst) applies stablehlo.add across dimensions = [2] : (tensor<4x64x64xf32>, tensor<f32>) -> tensor<4x64xf32>
    %179 = stablehlo.divide %178, %cst_2 : tensor<4x64xf32>
    %180 = stablehlo.broadcast_in_dim %179, dims = [0, 1] : (tensor<4x64xf32>) -> tensor<4x64x1xf32>
    %181 = stablehlo.add %180, %cst_3 : tensor<4x64x1xf32>
    %182 = stablehlo.rsqrt %181 : tensor<4x64x1xf32>
    %183 = stablehlo.broadcast_in_dim %182, dims = [0, 1, 2] : (tensor<4x64x1xf32>) -> tensor<4x64x64xf32>
    %184 = stablehlo.multiply %176, %183 : tensor<4x64x64xf32>
    %185 = stablehlo.broadcast_in_dim %arg25, dims = [2] : (tensor<64xf32>) -> tensor<4x64x64xf32>
    %186 = stablehlo.multiply %184, %185 : tensor<4x64x64xf32>
    %187 = stablehlo.broadcast_in_dim %arg24, dims = [2] : (tensor<64xf32>) -> tensor<4x64x64xf32>
    %188 = stablehlo.add %186, %187 : tensor<4x64x64xf32>
    %189 = stablehlo.transpose %arg27, dims = [1, 0] : (tensor<256x64xf32>) -> tensor<64x256xf32>
    %190 = stablehlo.dot_general %188, %189, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<4x64x64xf32>, tensor<64x256xf32>) -> tensor<4x64x256xf32>
    return %190 : tensor<4x64x256xf32>
  }
}
