module @jit_forward attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<256xf32>, %arg1: tensor<4xf32>, %arg2: tensor<64x4xf32>, %arg3: tensor<64x256xf32>, %arg4: tensor<16x256xf32>, %arg5: tensor<8x1000x16xf32>) -> (tensor<8x1000x4xf32> {olympus.result_info = "result[0]"}, tensor<8x64xf32> {olympus.result_info = "result[1][0]"}, tensor<8x64xf32> {olympus.result_info = "result[1][1]"}) {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<8x64xf32>
    %0 = stablehlo.transpose %arg5, dims = [1, 0, 2] : (tensor<8x1000x16xf32>) -> tensor<1000x8x16xf32>
    %cst_0 = stablehlo.constant dense<0.000000e+00> : tensor<1000x8x64xf32>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %1:4 = stablehlo.while(%iterArg = %c, %iterArg_1 = %cst, %iterArg_2 = %cst, %iterArg_3 = %cst_0) : tensor<i32>, tensor<8x64xf32>, tensor<8x64xf32>, tensor<1000x8x64xf32>
    cond {
      %c_4 = stablehlo.constant dense<1000> : tensor<i32>
      %6 = stablehlo.compare LT, %iterArg, %c_4, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %6 : tensor<i1>
    } do {
      %c_4 = stablehlo.constant dense<0> : tensor<i32>
      %6 = stablehlo.dynamic_slice %0, %iterArg, %c_4, %c_4, sizes = [1, 8, 16] : (tensor<1000x8x16xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x8x16xf32>
      %7 = stablehlo.reshape %6 : (tensor<1x8x16xf32>) -> tensor<8x16xf32>
      %8 = stablehlo.dot_general %7, %arg4, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<8x16xf32>, tensor<16x256xf32>) -> tensor<8x256xf32>
      %9 = stablehlo.dot_general %iterArg_1, %arg3, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<8x64xf32>, tensor<64x256xf32>) -> tensor<8x256xf32>
      %10 = stablehlo.add %8, %9 : tensor<8x256xf32>
      %11 = stablehlo.broadcast_in_dim %arg0, dims = [1] : (tensor<256xf32>) -> tensor<8x256xf32>
      %12 = stablehlo.add %10, %11 : tensor<8x256xf32>
      %13 = stablehlo.slice %12 [0:8, 0:64] : (tensor<8x256xf32>) -> tensor<8x64xf32>
      %14 = stablehlo.slice %12 [0:8, 64:128] : (tensor<8x256xf32>) -> tensor<8x64xf32>
      %15 = stablehlo.slice %12 [0:8, 128:192] : (tensor<8x256xf32>) -> tensor<8x64xf32>
      %16 = stablehlo.slice %12 [0:8, 192:256] : (tensor<8x256xf32>) -> tensor<8x64xf32>
      %17 = stablehlo.logistic %14 : tensor<8x64xf32>
      %18 = stablehlo.multiply %17, %iterArg_2 : tensor<8x64xf32>
      %19 = stablehlo.logistic %13 : tensor<8x64xf32>
      %20 = stablehlo.tanh %15 : tensor<8x64xf32>
      %21 = stablehlo.multiply %19, %20 : tensor<8x64xf32>
      %22 = stablehlo.add %18, %21 : tensor<8x64xf32>
      %23 = stablehlo.logistic %16 : tensor<8x64xf32>
      %24 = stablehlo.tanh %22 : tensor<8x64xf32>
      %25 = stablehlo.multiply %23, %24 : tensor<8x64xf32>
      %26 = stablehlo.reshape %25 : (tensor<8x64xf32>) -> tensor<1x8x64xf32>
      %27 = stablehlo.dynamic_update_slice %iterArg_3, %26, %iterArg, %c_4, %c_4 : (tensor<1000x8x64xf32>, tensor<1x8x64xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1000x8x64xf32>
      %c_5 = stablehlo.constant dense<1> : tensor<i32>
      %28 = stablehlo.add %iterArg, %c_5 : tensor<i32>
      stablehlo.return %28, %25, %22, %27 : tensor<i32>, tensor<8x64xf32>, tensor<8x64xf32>, tensor<1000x8x64xf32>
    }
    %2 = stablehlo.dot_general %1#3, %arg2, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<1000x8x64xf32>, tensor<64x4xf32>) -> tensor<1000x8x4xf32>
    %3 = stablehlo.broadcast_in_dim %arg1, dims = [2] : (tensor<4xf32>) -> tensor<1000x8x4xf32>
    %4 = stablehlo.add %2, %3 : tensor<1000x8x4xf32>
    %5 = stablehlo.transpose %4, dims = [1, 0, 2] : (tensor<1000x8x4xf32>) -> tensor<8x1000x4xf32>
    return %5, %1#1, %1#2 : tensor<8x1000x4xf32>, tensor<8x64xf32>, tensor<8x64xf32>
  }
}
