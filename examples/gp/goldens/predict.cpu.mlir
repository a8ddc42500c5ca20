module @jit_predict attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<3xf32>, %arg1: tensor<60xf32>, %arg2: tensor<60xf32>, %arg3: tensor<5xf32>) -> (tensor<5xf32> {olympus.result_info = "result[0]"}, tensor<5xf32> {olympus.result_info = "result[1]"}) {
    %0 = stablehlo.slice %arg0 [2:3] : (tensor<3xf32>) -> tensor<1xf32>
    %1 = stablehlo.reshape %0 : (tensor<1xf32>) -> tensor<f32>
    %cst = stablehlo.constant dense<2.000000e+00> : tensor<f32>
    %2 = stablehlo.multiply %cst, %1 : tensor<f32>
    %3 = stablehlo.exponential %2 : tensor<f32>
    %4 = stablehlo.iota dim = 0 : tensor<60x60xi32>
    %5 = stablehlo.iota dim = 1 : tensor<60x60xi32>
    %6 = stablehlo.compare EQ, %4, %5, SIGNED : (tensor<60x60xi32>, tensor<60x60xi32>) -> tensor<60x60xi1>
    %7 = stablehlo.convert %6 : (tensor<60x60xi1>) -> tensor<60x60xf32>
    %8 = stablehlo.broadcast_in_dim %3, dims = [] : (tensor<f32>) -> tensor<60x60xf32>
    %9 = stablehlo.multiply %8, %7 : tensor<60x60xf32>
    %10 = stablehlo.exponential %arg0 : tensor<3xf32>
    %11 = stablehlo.slice %10 [0:1] : (tensor<3xf32>) -> tensor<1xf32>
    %12 = stablehlo.slice %10 [1:2] : (tensor<3xf32>) -> tensor<1xf32>
    %13 = stablehlo.slice %10 [2:3] : (tensor<3xf32>) -> tensor<1xf32>
    %14 = stablehlo.reshape %11 : (tensor<1xf32>) -> tensor<f32>
    %15 = stablehlo.reshape %12 : (tensor<1xf32>) -> tensor<f32>
    %16 = stablehlo.reshape %13 : (tensor<1xf32>) -> tensor<f32>
    %17 = stablehlo.multiply %14, %14 : tensor<f32>
    %18 = stablehlo.broadcast_in_dim %arg1, dims = [0] : (tensor<60xf32>) -> tensor<60x1xf32>
    %19 = stablehlo.broadcast_in_dim %18, dims = [0, 1] : (tensor<60x1xf32>) -> tensor<60x60xf32>
    %20 = stablehlo.broadcast_in_dim %arg1, dims = [1] : (tensor<60xf32>) -> tensor<60x60xf32>
    %21 = stablehlo.subtract %19, %20 : tensor<60x60xf32>
    %22 = stablehlo.broadcast_in_dim %15, dims = [] : (tensor<f32>) -> tensor<60x60xf32>
    %23 = stablehlo.divide %21, %22 : tensor<60x60xf32>
    %24 = stablehlo.multiply %23, %23 : tensor<60x60xf32>
    %cst_0 = stablehlo.constant dense<-5.000000e-01> : tensor<60x60xf32>
    %25 = stablehlo.multiply %cst_0, %24 : tensor<60x60xf32>
    %26 = stablehlo.exponential %25 : tensor<60x60xf32>
    %27 = stablehlo.broadcast_in_dim %17, dims = [] : (tensor<f32>) -> tensor<60x60xf32>
    %28 = stablehlo.multiply %27, %26 : tensor<60x60xf32>
    %29 = stablehlo.add %28, %9 : tensor<60x60xf32>
    %30 = stablehlo.transpose %29, dims = [1, 0] : (tensor<60x60xf32>) -> tensor<60x60xf32>
    %31 = stablehlo.add %29, %30 : tensor<60x60xf32>
    %cst_1 = stablehlo.constant dense<5.000000e-01> : tensor<60x60xf32>
    %32 = stablehlo.multiply %31, %cst_1 : tensor<60x60xf32>
    %33 = stablehlo.transpose %32, dims = [1, 0] : (tensor<60x60xf32>) -> tensor<60x60xf32>
    %34:2 = stablehlo.custom_call @lapack_spotrf_ffi(%33) {mhlo.backend_config = {uplo = 85 : ui8}, operand_layouts = [dense<[0, 1]> : tensor<2xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [0], operand_index = 0, operand_tuple_indices = []>], result_layouts = [dense<[0, 1]> : tensor<2xindex>, dense<> : tensor<0xindex>]} : (tensor<60x60xf32>) -> (tensor<60x60xf32>, tensor<i32>)
    %c = stablehlo.constant dense<0> : tensor<i32>
    %35 = stablehlo.compare EQ, %34#1, %c, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %36 = stablehlo.transpose %34#0, dims = [1, 0] : (tensor<60x60xf32>) -> tensor<60x60xf32>
    %37 = stablehlo.broadcast_in_dim %35, dims = [] : (tensor<i1>) -> tensor<60x60xi1>
    %cst_2 = stablehlo.constant dense<0x7FC00000> : tensor<60x60xf32>
    %38 = stablehlo.select %37, %36, %cst_2 : tensor<60x60xi1>, tensor<60x60xf32>
    %39 = stablehlo.iota dim = 0 : tensor<60x60xi32>
    %40 = stablehlo.iota dim = 1 : tensor<60x60xi32>
    %41 = stablehlo.compare GE, %39, %40, SIGNED : (tensor<60x60xi32>, tensor<60x60xi32>) -> tensor<60x60xi1>
    %cst_3 = stablehlo.constant dense<0.000000e+00> : tensor<60x60xf32>
    %42 = stablehlo.select %41, %38, %cst_3 : tensor<60x60xi1>, tensor<60x60xf32>
    %43 = stablehlo.broadcast_in_dim %18, dims = [0, 1] : (tensor<60x1xf32>) -> tensor<60x5xf32>
    %44 = stablehlo.broadcast_in_dim %arg3, dims = [1] : (tensor<5xf32>) -> tensor<60x5xf32>
    %45 = stablehlo.subtract %43, %44 : tensor<60x5xf32>
    %46 = stablehlo.broadcast_in_dim %15, dims = [] : (tensor<f32>) -> tensor<60x5xf32>
    %47 = stablehlo.divide %45, %46 : tensor<60x5xf32>
    %48 = stablehlo.multiply %47, %47 : tensor<60x5xf32>
    %cst_4 = stablehlo.constant dense<-5.000000e-01> : tensor<60x5xf32>
    %49 = stablehlo.multiply %cst_4, %48 : tensor<60x5xf32>
    %50 = stablehlo.exponential %49 : tensor<60x5xf32>
    %51 = stablehlo.broadcast_in_dim %17, dims = [] : (tensor<f32>) -> tensor<60x5xf32>
    %52 = stablehlo.multiply %51, %50 : tensor<60x5xf32>
    %53 = stablehlo.transpose %42, dims = [1, 0] : (tensor<60x60xf32>) -> tensor<60x60xf32>
    %54 = stablehlo.transpose %52, dims = [1, 0] : (tensor<60x5xf32>) -> tensor<5x60xf32>
    %55 = stablehlo.custom_call @lapack_strsm_ffi(%53, %54) {mhlo.backend_config = {diag = 78 : ui8, side = 82 : ui8, trans_x = 78 : ui8, uplo = 85 : ui8}, operand_layouts = [dense<[0, 1]> : tensor<2xindex>, dense<[0, 1]> : tensor<2xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [], operand_index = 1, operand_tuple_indices = []>], result_layouts = [dense<[0, 1]> : tensor<2xindex>]} : (tensor<60x60xf32>, tensor<5x60xf32>) -> tensor<5x60xf32>
    %56 = stablehlo.transpose %55, dims = [1, 0] : (tensor<5x60xf32>) -> tensor<60x5xf32>
    %57 = stablehlo.transpose %56, dims = [1, 0] : (tensor<60x5xf32>) -> tensor<5x60xf32>
    %58 = stablehlo.broadcast_in_dim %arg2, dims = [0] : (tensor<60xf32>) -> tensor<60x1xf32>
    %59 = stablehlo.transpose %42, dims = [1, 0] : (tensor<60x60xf32>) -> tensor<60x60xf32>
    %60 = stablehlo.transpose %58, dims = [1, 0] : (tensor<60x1xf32>) -> tensor<1x60xf32>
    %61 = stablehlo.custom_call @lapack_strsm_ffi(%59, %60) {mhlo.backend_config = {diag = 78 : ui8, side = 82 : ui8, trans_x = 78 : ui8, uplo = 85 : ui8}, operand_layouts = [dense<[0, 1]> : tensor<2xindex>, dense<[0, 1]> : tensor<2xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [], operand_index = 1, operand_tuple_indices = []>], result_layouts = [dense<[0, 1]> : tensor<2xindex>]} : (tensor<60x60xf32>, tensor<1x60xf32>) -> tensor<1x60xf32>
    %62 = stablehlo.transpose %61, dims = [1, 0] : (tensor<1x60xf32>) -> tensor<60x1xf32>
    %63 = stablehlo.reshape %62 : (tensor<60x1xf32>) -> tensor<60xf32>
    %64 = stablehlo.dot_general %57, %63, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<5x60xf32>, tensor<60xf32>) -> tensor<5xf32>
    %65 = stablehlo.slice %arg0 [0:1] : (tensor<3xf32>) -> tensor<1xf32>
    %66 = stablehlo.reshape %65 : (tensor<1xf32>) -> tensor<f32>
    %67 = stablehlo.multiply %cst, %66 : tensor<f32>
    %68 = stablehlo.exponential %67 : tensor<f32>
    %69 = stablehlo.multiply %56, %56 : tensor<60x5xf32>
    %cst_5 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %70 = stablehlo.reduce(%69 init: %cst_5) applies stablehlo.add across dimensions = [0] : (tensor<60x5xf32>, tensor<f32>) -> tensor<5xf32>
    %71 = stablehlo.broadcast_in_dim %68, dims = [] : (tensor<f32>) -> tensor<5xf32>
    %72 = stablehlo.subtract %71, %70 : tensor<5xf32>
    %73 = stablehlo.sqrt %72 : tensor<5xf32>
    return %64, %73 : tensor<5xf32>, tensor<5xf32>
  }
}
