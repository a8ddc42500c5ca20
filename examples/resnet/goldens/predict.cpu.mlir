module @jit_predict attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<16xf32>, %arg1: tensor<16xf32>, %arg2: tensor<16xf32>, %arg3: tensor<16xf32>, %arg4: tensor<16xf32>, %arg5: tensor<16xf32>, %arg6: tensor<16xf32>, %arg7: tensor<16xf32>, %arg8: tensor<16xf32>, %arg9: tensor<16xf32>, %arg10: tensor<16xf32>, %arg11: tensor<16xf32>, %arg12: tensor<32xf32>, %arg13: tensor<32xf32>, %arg14: tensor<32xf32>, %arg15: tensor<32xf32>, %arg16: tensor<32xf32>, %arg17: tensor<32xf32>, %arg18: tensor<32xf32>, %arg19: tensor<32xf32>, %arg20: tensor<32xf32>, %arg21: tensor<32xf32>, %arg22: tensor<32xf32>, %arg23: tensor<32xf32>, %arg24: tensor<64xf32>, %arg25: tensor<64xf32>, %arg26: tensor<64xf32>, %arg27: tensor<64xf32>, %arg28: tensor<64xf32>, %arg29: tensor<64xf32>, %arg30: tensor<64xf32>, %arg31: tensor<64xf32>, %arg32: tensor<64xf32>, %arg33: tensor<64xf32>, %arg34: tensor<64xf32>, %arg35: tensor<64xf32>, %arg36: tensor<16xf32>, %arg37: tensor<16xf32>, %arg38: tensor<3x3x16x16xf32>, %arg39: tensor<3x3x16x16xf32>, %arg40: tensor<16xf32>, %arg41: tensor<16xf32>, %arg42: tensor<16xf32>, %arg43: tensor<16xf32>, %arg44: tensor<3x3x16x16xf32>, %arg45: tensor<3x3x16x16xf32>, %arg46: tensor<16xf32>, %arg47: tensor<16xf32>, %arg48: tensor<16xf32>, %arg49: tensor<16xf32>, %arg50: tensor<3x3x16x16xf32>, %arg51: tensor<3x3x16x16xf32>, %arg52: tensor<16xf32>, %arg53: tensor<16xf32>, %arg54: tensor<16xf32>, %arg55: tensor<16xf32>, %arg56: tensor<3x3x16x32xf32>, %arg57: tensor<3x3x32x32xf32>, %arg58: tensor<32xf32>, %arg59: tensor<32xf32>, %arg60: tensor<32xf32>, %arg61: tensor<32xf32>, %arg62: tensor<1x1x16x32xf32>, %arg63: tensor<3x3x32x32xf32>, %arg64: tensor<3x3x32x32xf32>, %arg65: tensor<32xf32>, %arg66: tensor<32xf32>, %arg67: tensor<32xf32>, %arg68: tensor<32xf32>, %arg69: tensor<3x3x32x32xf32>, %arg70: tensor<3x3x32x32xf32>, %arg71: tensor<32xf32>, %arg72: tensor<32xf32>, %arg73: tensor<32xf32>, %arg74: tensor<32xf32>, %arg75: tensor<3x3x32x64xf32>, %arg76: tensor<3x3x64x64xf32>, %arg77: tensor<64xf32>, %arg78: tensor<64xf32>, %arg79: tensor<64xf32>, %arg80: tensor<64xf32>, %arg81: tensor<1x1x32x64xf32>, %arg82: tensor<3x3x64x64xf32>, %arg83: tensor<3x3x64x64xf32>, %arg84: tensor<64xf32>, %arg85: tensor<64xf32>, %arg86: tensor<64xf32>, %arg87: tensor<64xf32>, %arg88: tensor<3x3x64x64xf32>, %arg89: tensor<3x3x64x64xf32>, %arg90: tensor<64xf32>, %arg91: tensor<64xf32>, %arg92: tensor<64xf32>, %arg93: tensor<64xf32>, %arg94: tensor<16xf32>, %arg95: tensor<16xf32>, %arg96: tensor<10xf32>, %arg97: tensor<64x10xf32>, %arg98: tensor<3x3x3x16xf32>, %arg99: tensor<3x3x16x16xf32>, %arg100: tensor<3x3x16x16xf32>, %arg101: tensor<16xf32>, %arg102: tensor<16xf32>, %arg103: tensor<16xf32>, %arg104: tensor<16xf32>, %arg105: tensor<3x3x16x16xf32>, %arg106: tensor<3x3x16x16xf32>, %arg107: tensor<16xf32>, %arg108: tensor<16xf32>, %arg109: tensor<16xf32>, %arg110: tensor<16xf32>, %arg111: tensor<3x3x16x16xf32>, %arg112: tensor<3x3x16x16xf32>, %arg113: tensor<16xf32>, %arg114: tensor<16xf32>, %arg115: tensor<16xf32>, %arg116: tensor<16xf32>, %arg117: tensor<3x3x16x32xf32>, %arg118: tensor<3x3x32x32xf32>, %arg119: tensor<32xf32>, %arg120: tensor<32xf32>, %arg121: tensor<32xf32>, %arg122: tensor<32xf32>, %arg123: tensor<1x1x16x32xf32>, %arg124: tensor<3x3x32x32xf32>, %arg125: tensor<3x3x32x32xf32>, %arg126: tensor<32xf32>, %arg127: tensor<32xf32>, %arg128: tensor<32xf32>, %arg129: tensor<32xf32>, %arg130: tensor<3x3x32x32xf32>, %arg131: tensor<3x3x32x32xf32>, %arg132: tensor<32xf32>, %arg133: tensor<32xf32>, %arg134: tensor<32xf32>, %arg135: tensor<32xf32>, %arg136: tensor<3x3x32x64xf32>, %arg137: tensor<3x3x64x64xf32>, %arg138: tensor<64xf32>, %arg139: tensor<64xf32>, %arg140: tensor<64xf32>, %arg141: tensor<64xf32>, %arg142: tensor<1x1x32x64xf32>, %arg143: tensor<3x3x64x64xf32>, %arg144: tensor<3x3x64x64xf32>, %arg145: tensor<64xf32>, %arg146: tensor<64xf32>, %arg147: tensor<64xf32>, %arg148: tensor<64xf32>, %arg149: tensor<3x3x64x64xf32>, %arg150: tensor<3x3x64x64xf32>, %arg151: tensor<64xf32>, %arg152: tensor<64xf32>, %arg153: tensor<64xf32>, %arg154: tensor<64xf32>, %arg155: tensor<16xf32>, %arg156: tensor<16xf32>, %arg157: tensor<10xf32>, %arg158: tensor<64x10xf32>, %arg159: tensor<3x3x3x16xf32>, %arg160: tensor<1x32x32x3xf32>) -> (tensor<1x10xf32> {olympus.result_info = "result"}) {
    %0 = stablehlo.convolution(%arg160, %arg98) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [1, 1], pad = [[1, 1], [1, 1]], lhs_dilate = [1, 1], rhs_dilate = [1, 1]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]} : (tensor<1x32x32x3xf32>, tensor<3x3x3x16xf32>) -> tensor<1x32x32x16xf32>
    %1 = stablehlo.broadcast_in_dim %arg36, dims = [3] : (tensor<16xf32>) -> tensor<1x32x32x16xf32>
    %2 = stablehlo.subtract %0, %1 : tensor<1x32x32x16xf32>
    %cst = stablehlo.constant dense<9.99999974E-6> : tensor<16xf32>
    %3 = stablehlo.add %arg37, %cst : tensor<16xf32>
    %4 = stablehlo.rsqrt %3 : tensor<16xf32>
    %5 = stablehlo.broadcast_in_dim %4, dims = [3] : (tensor<16xf32>) -> tensor<1x32x32x16xf32>
    %6 = stablehlo.multiply %2, %5 : tensor<1x32x32x16xf32>
    %7 = stablehlo.broadcast_in_dim %arg95, dims = [3] : (tensor<16xf32>) -> tensor<1x32x32x16xf32>
    %8 = stablehlo.multiply %6, %7 : tensor<1x32x32x16xf32>
    %9 = stablehlo.broadcast_in_dim %arg94, dims = [3] : (tensor<16xf32>) -> tensor<1x32x32x16xf32>
    %10 = stablehlo.add %8, %9 : tensor<1x32x32x16xf32>
    %cst_0 = stablehlo.constant dense<0.000000e+00> : tensor<1x32x32x16xf32>
    %11 = stablehlo.maximum %10, %cst_0 : tensor<1x32x32x16xf32>
    %12 = stablehlo.convolution(%11, %arg38) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [1, 1], pad = [[1, 1], [1, 1]], lhs_dilate = [1, 1], rhs_dilate = [1, 1]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]} : (tensor<1x32x32x16xf32>, tensor<3x3x16x16xf32>) -> tensor<1x32x32x16xf32>
    %13 = stablehlo.broadcast_in_dim %arg0, dims = [3] : (tensor<16xf32>) -> tensor<1x32x32x16xf32>
    %14 = stablehlo.subtract %12, %13 : tensor<1x32x32x16xf32>
    %15 = stablehlo.add %arg1, %cst : tensor<16xf32>
    %16 = stablehlo.rsqrt %15 : tensor<16xf32>
    %17 = stablehlo.broadcast_in_dim %16, dims = [3] : (tensor<16xf32>) -> tensor<1x32x32x16xf32>
    %18 = stablehlo.multiply %14, %17 : tensor<1x32x32x16xf32>
    %19 = stablehlo.broadcast_in_dim %arg41, dims = [3] : (tensor<16xf32>) -> tensor<1x32x32x16xf32>
    %20 = stablehlo.multiply %18, %19 : tensor<1x32x32x16xf32>
    %21 = stablehlo.broadcast_in_dim %arg40, dims = [3] : (tensor<16xf32>) -> tensor<1x32x32x16xf32>
    %22 = stablehlo.add %20, %21 : tensor<1x32x32x16xf32>
    %cst_1 = stablehlo.constant dense<0.000000e+00> : tensor<1x32x32x16xf32>
    %23 = stablehlo.maximum %22, %cst_1 : tensor<1x32x32x16xf32>
    %24 = stablehlo.convolution(%23, %arg39) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [1, 1], pad = [[1, 1], [1, 1]], lhs_dilate = [1, 1], rhs_dilate = [1, 1]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]} : (tensor<1x32x32x16xf32>, tensor<3x3x16x16xf32>) -> tensor<1x32x32x16xf32>
    %25 = stablehlo.broadcast_in_dim %arg2, dims = [3] : (tensor<16xf32>) -> tensor<1x32x32x16xf32>
    %26 = stablehlo.subtract %24, %25 : tensor<1x32x32x16xf32>
    %27 = stablehlo.add %arg3, %cst : tensor<16xf32>
    %28 = stablehlo.rsqrt %27 : tensor<16xf32>
    %29 = stablehlo.broadcast_in_dim %28, dims = [3] : (tensor<16xf32>) -> tensor<1x32x32x16xf32>
    %30 = stablehlo.multiply %26, %29 : tensor<1x32x32x16xf32>
    %31 = stablehlo.broadcast_in_dim %arg43, dims = [3] : (tensor<16xf32>) -> tensor<1x32x32x16xf32>
    %32 = stablehlo.multiply %30, %31 : tensor<1x32x32x16xf32>
    %33 = stablehlo.broadcast_in_dim %arg42, dims = [3] : (tensor<16xf32>) -> tensor<1x32x32x16xf32>
    %34 = stablehlo.add %32, %33 : tensor<1x32x32x16xf32>
    %35 = stablehlo.add %11, %34 : tensor<1x32x32x16xf32>
    %cst_2 = stablehlo.constant dense<0.000000e+00> : tensor<1x32x32x16xf32>
    %36 = stablehlo.compare LE, %35, %cst_2, FLOAT : (tensor<1x32x32x16xf32>, tensor<1x32x32x16xf32>) -> tensor<1x32x32x16xi1>
    %37 = stablehlo.select %36, %cst_2, %35 : tensor<1x32x32x16xi1>, tensor<1x32x32x16xf32>
    %38 = stablehlo.convolution(%37, %arg44) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [1, 1], pad = [[1, 1], [1, 1]], lhs_dilate = [1, 1], rhs_dilate = [1, 1]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]} : (tensor<1x32x32x16xf32>, tensor<3x3x16x16xf32>) -> tensor<1x32x32x16xf32>
    %39 = stablehlo.broadcast_in_dim %arg4, dims = [3] : (tensor<16xf32>) -> tensor<1x32x32x16xf32>
    %40 = stablehlo.subtract %38, %39 : tensor<1x32x32x16xf32>
    %41 = stablehlo.add %arg5, %cst : tensor<16xf32>
    %42 = stablehlo.rsqrt %41 : tensor<16xf32>
    %43 = stablehlo.broadcast_in_dim %42, dims = [3] : (tensor<16xf32>) -> tensor<1x32x32x16xf32>
    %44 = stablehlo.multiply %40, %43 : tensor<1x32x32x16xf32>
    %45 = stablehlo.broadcast_in_dim %arg47, dims = [3] : (tensor<16xf32>) -> tensor<1x32x32x16xf32>
    %46 = stablehlo.multiply %44, %45 : tensor<1x32x32x16xf32>
    %47 = stablehlo.broadcast_in_dim %arg46, dims = [3] : (tensor<16xf32>) -> tensor<1x32x32x16xf32>
    %48 = stablehlo.add %46, %47 : tensor<1x32x32x16xf32>
    %cst_3 = stablehlo.constant dense<0.000000e+00> : tensor<1x32x32x16xf32>
    %49 = stablehlo.maximum %48, %cst_3 : tensor<1x32x32x16xf32>
    %50 = stablehlo.convolution(%49, %arg45) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [1, 1], pad = [[1, 1], [1, 1]], lhs_dilate = [1, 1], rhs_dilate = [1, 1]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]} : (tensor<1x32x32x16xf32>, tensor<3x3x16x16xf32>) -> tensor<1x32x32x16xf32>
    %51 = stablehlo.broadcast_in_dim %arg6, dims = [3] : (tensor<16xf32>) -> tensor<1x32x32x16xf32>
    %52 = stablehlo.subtract %50, %51 : tensor<1x32x32x16xf32>
    %53 = stablehlo.add %arg7, %cst : tensor<16xf32>
    %54 = stablehlo.rsqrt %53 : tensor<16xf32>
    %55 = stablehlo.broadcast_in_dim %54, dims = [3] : (tensor<16xf32>) -> tensor<1x32x32x16xf32>
    %56 = stablehlo.multiply %52, %55 : tensor<1x32x32x16xf32>
    %57 = stablehlo.broadcast_in_dim %arg49, dims = [3] : (tensor<16xf32>) -> tensor<1x32x32x16xf32>
    %58 = stablehlo.multiply %56, %57 : tensor<1x32x32x16xf32>
    %59 = stablehlo.broadcast_in_dim %arg48, dims = [3] : (tensor<16xf32>) -> tensor<1x32x32x16xf32>
    %60 = stablehlo.add %58, %59 : tensor<1x32x32x16xf32>
    %61 = stablehlo.add %37, %60 : tensor<1x32x32x16xf32>
    %62 = stablehlo.compare LE, %61, %cst_2, FLOAT : (tensor<1x32x32x16xf32>, tensor<1x32x32x16xf32>) -> tensor<1x32x32x16xi1>
    %63 = stablehlo.select %62, %cst_2, %61 : tensor<1x32x32x16xi1>, tensor<1x32x32x16xf32>
    %64 = stablehlo.convolution(%63, %arg50) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [1, 1], pad = [[1, 1], [1, 1]], lhs_dilate = [1, 1], rhs_dilate = [1, 1]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]} : (tensor<1x32x32x16xf32>, tensor<3x3x16x16xf32>) -> tensor<1x32x32x16xf32>
    %65 = stablehlo.broadcast_in_dim %arg8, dims = [3] : (tensor<16xf32>) -> tensor<1x32x32x16xf32>
    %66 = stablehlo.subtract %64, %65 : tensor<1x32x32x16xf32>
    %67 = stablehlo.add %arg9, %cst : tensor<16xf32>
    %68 = stablehlo.rsqrt %67 : tensor<16xf32>
    %69 = stablehlo.broadcast_in_dim %68, dims = [3] : (tensor<16xf32>) -> tensor<1x32x32x16xf32>
    %70 = stablehlo.multiply %66, %69 : tensor<1x32x32x16xf32>
    %71 = stablehlo.broadcast_in_dim %arg53, dims = [3] : (tensor<16xf32>) -> tensor<1x32x32x16xf32>
    %72 = stablehlo.multiply %70, %71 : tensor<1x32x32x16xf32>
    %73 = stablehlo.broadcast_in_dim %arg52, dims = [3] : (tensor<16xf32>) -> tensor<1x32x32x16xf32>
    %74 = stablehlo.add %72, %73 : tensor<1x32x32x16xf32>
    %cst_4 = stablehlo.constant dense<0.000000e+00> : tensor<1x32x32x16xf32>
    %75 = stablehlo.maximum %74, %cst_4 : tensor<1x32x32x16xf32>
    %76 = stablehlo.convolution(%75, %arg51) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [1, 1], pad = [[1, 1], [1, 1]], lhs_dilate = [1, 1], rhs_dilate = [1, 1]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]} : (tensor<1x32x32x16xf32>, tensor<3x3x16x16xf32>) -> tensor<1x32x32x16xf32>
    %77 = stablehlo.broadcast_in_dim %arg10, dims = [3] : (tensor<16xf32>) -> tensor<1x32x32x16xf32>
    %78 = stablehlo.subtract %76, %77 : tensor<1x32x32x16xf32>
    %79 = stablehlo.add %arg11, %cst : tensor<16xf32>
    %80 = stablehlo.rsqrt %79 : tensor<16xf32>
    %81 = stablehlo.broadcast_in_dim %80, dims = [3] : (tensor<16xf32>) -> tensor<1x32x32x16xf32>
    %82 = stablehlo.multiply %78, %81 : tensor<1x32x32x16xf32>
    %83 = stablehlo.broadcast_in_dim %arg55, dims = [3] : (tensor<16xf32>) -> tensor<1x32x32x16xf32>
    %84 = stablehlo.multiply %82, %83 : tensor<1x32x32x16xf32>
    %85 = stablehlo.broadcast_in_dim %arg54, dims = [3] : (tensor<16xf32>) -> tensor<1x32x32x16xf32>
    %86 = stablehlo.add %84, %85 : tensor<1x32x32x16xf32>
    %87 = stablehlo.add %63, %86 : tensor<1x32x32x16xf32>
    %88 = stablehlo.compare LE, %87, %cst_2, FLOAT : (tensor<1x32x32x16xf32>, tensor<1x32x32x16xf32>) -> tensor<1x32x32x16xi1>
    %89 = stablehlo.select %88, %cst_2, %87 : tensor<1x32x32x16xi1>, tensor<1x32x32x16xf32>
    %90 = stablehlo.convolution(%89, %arg56) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [2, 2], pad = [[0, 1], [0, 1]], lhs_dilate = [1, 1], rhs_dilate = [1, 1]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]} : (tensor<1x32x32x16xf32>, tensor<3x3x16x32xf32>) -> tensor<1x16x16x32xf32>
    %91 = stablehlo.broadcast_in_dim %arg12, dims = [3] : (tensor<32xf32>) -> tensor<1x16x16x32xf32>
    %92 = stablehlo.subtract %90, %91 : tensor<1x16x16x32xf32>
    %cst_5 = stablehlo.constant dense<9.99999974E-6> : tensor<32xf32>
    %93 = stablehlo.add %arg13, %cst_5 : tensor<32xf32>
    %94 = stablehlo.rsqrt %93 : tensor<32xf32>
    %95 = stablehlo.broadcast_in_dim %94, dims = [3] : (tensor<32xf32>) -> tensor<1x16x16x32xf32>
    %96 = stablehlo.multiply %92, %95 : tensor<1x16x16x32xf32>
    %97 = stablehlo.broadcast_in_dim %arg59, dims = [3] : (tensor<32xf32>) -> tensor<1x16x16x32xf32>
    %98 = stablehlo.multiply %96, %97 : tensor<1x16x16x32xf32>
    %99 = stablehlo.broadcast_in_dim %arg58, dims = [3] : (tensor<32xf32>) -> tensor<1x16x16x32xf32>
    %100 = stablehlo.add %98, %99 : tensor<1x16x16x32xf32>
    %cst_6 = stablehlo.constant dense<0.000000e+00> : tensor<1x16x16x32xf32>
    %101 = stablehlo.maximum %100, %cst_6 : tensor<1x16x16x32xf32>
    %102 = stablehlo.convolution(%101, %arg57) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [1, 1], pad = [[1, 1], [1, 1]], lhs_dilate = [1, 1], rhs_dilate = [1, 1]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]} : (tensor<1x16x16x32xf32>, tensor<3x3x32x32xf32>) -> tensor<1x16x16x32xf32>
    %103 = stablehlo.broadcast_in_dim %arg14, dims = [3] : (tensor<32xf32>) -> tensor<1x16x16x32xf32>
    %104 = stablehlo.subtract %102, %103 : tensor<1x16x16x32xf32>
    %105 = stablehlo.add %arg15, %cst_5 : tensor<32xf32>
    %106 = stablehlo.rsqrt %105 : tensor<32xf32>
    %107 = stablehlo.broadcast_in_dim %106, dims = [3] : (tensor<32xf32>) -> tensor<1x16x16x32xf32>
    %108 = stablehlo.multiply %104, %107 : tensor<1x16x16x32xf32>
    %109 = stablehlo.broadcast_in_dim %arg61, dims = [3] : (tensor<32xf32>) -> tensor<1x16x16x32xf32>
    %110 = stablehlo.multiply %108, %109 : tensor<1x16x16x32xf32>
    %111 = stablehlo.broadcast_in_dim %arg60, dims = [3] : (tensor<32xf32>) -> tensor<1x16x16x32xf32>
    %112 = stablehlo.add %110, %111 : tensor<1x16x16x32xf32>
    %113 = call @convolution_as_product(%89, %arg62) : (tensor<1x32x32x16xf32>, tensor<1x1x16x32xf32>) -> tensor<1x16x16x32xf32>
    %114 = stablehlo.add %113, %112 : tensor<1x16x16x32xf32>
    %cst_7 = stablehlo.constant dense<0.000000e+00> : tensor<1x16x16x32xf32>
    %115 = stablehlo.compare LE, %114, %cst_7, FLOAT : (tensor<1x16x16x32xf32>, tensor<1x16x16x32xf32>) -> tensor<1x16x16x32xi1>
    %116 = stablehlo.select %115, %cst_7, %114 : tensor<1x16x16x32xi1>, tensor<1x16x16x32xf32>
    %117 = stablehlo.convolution(%116, %arg63) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [1, 1], pad = [[1, 1], [1, 1]], lhs_dilate = [1, 1], rhs_dilate = [1, 1]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]} : (tensor<1x16x16x32xf32>, tensor<3x3x32x32xf32>) -> tensor<1x16x16x32xf32>
    %118 = stablehlo.broadcast_in_dim %arg16, dims = [3] : (tensor<32xf32>) -> tensor<1x16x16x32xf32>
    %119 = stablehlo.subtract %117, %118 : tensor<1x16x16x32xf32>
    %120 = stablehlo.add %arg17, %cst_5 : tensor<32xf32>
    %121 = stablehlo.rsqrt %120 : tensor<32xf32>
    %122 = stablehlo.broadcast_in_dim %121, dims = [3] : (tensor<32xf32>) -> tensor<1x16x16x32xf32>
    %123 = stablehlo.multiply %119, %122 : tensor<1x16x16x32xf32>
    %124 = stablehlo.broadcast_in_dim %arg66, dims = [3] : (tensor<32xf32>) -> tensor<1x16x16x32xf32>
    %125 = stablehlo.multiply %123, %124 : tensor<1x16x16x32xf32>
    %126 = stablehlo.broadcast_in_dim %arg65, dims = [3] : (tensor<32xf32>) -> tensor<1x16x16x32xf32>
    %127 = stablehlo.add %125, %126 : tensor<1x16x16x32xf32>
    %cst_8 = stablehlo.constant dense<0.000000e+00> : tensor<1x16x16x32xf32>
    %128 = stablehlo.maximum %127, %cst_8 : tensor<1x16x16x32xf32>
    %129 = stablehlo.convolution(%128, %arg64) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [1, 1], pad = [[1, 1], [1, 1]], lhs_dilate = [1, 1], rhs_dilate = [1, 1]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]} : (tensor<1x16x16x32xf32>, tensor<3x3x32x32xf32>) -> tensor<1x16x16x32xf32>
    %130 = stablehlo.broadcast_in_dim %arg18, dims = [3] : (tensor<32xf32>) -> tensor<1x16x16x32xf32>
    %131 = stablehlo.subtract %129, %130 : tensor<1x16x16x32xf32>
    %132 = stablehlo.add %arg19, %cst_5 : tensor<32xf32>
    %133 = stablehlo.rsqrt %132 : tensor<32xf32>
    %134 = stablehlo.broadcast_in_dim %133, dims = [3] : (tensor<32xf32>) -> tensor<1x16x16x32xf32>
    %135 = stablehlo.multiply %131, %134 : tensor<1x16x16x32xf32>
    %136 = stablehlo.broadcast_in_dim %arg68, dims = [3] : (tensor<32xf32>) -> tensor<1x16x16x32xf32>
    %137 = stablehlo.multiply %135, %136 : tensor<1x16x16x32xf32>
    %138 = stablehlo.broadcast_in_dim %arg67, dims = [3] : (tensor<32xf32>) -> tensor<1x16x16x32xf32>
    %139 = stablehlo.add %137, %138 : tensor<1x16x16x32xf32>
    %140 = stablehlo.add %116, %139 : tensor<1x16x16x32xf32>
    %141 = stablehlo.compare LE, %140, %cst_7, FLOAT : (tensor<1x16x16x32xf32>, tensor<1x16x16x32xf32>) -> tensor<1x16x16x32xi1>
    %142 = stablehlo.select %141, %cst_7, %140 : tensor<1x16x16x32xi1>, tensor<1x16x16x32xf32>
    %143 = stablehlo.convolution(%142, %arg69) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [1, 1], pad = [[1, 1], [1, 1]], lhs_dilate = [1, 1], rhs_dilate = [1, 1]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]} : (tensor<1x16x16x32xf32>, tensor<3x3x32x32xf32>) -> tensor<1x16x16x32xf32>
    %144 = stablehlo.broadcast_in_dim %arg20, dims = [3] : (tensor<32xf32>) -> tensor<1x16x16x32xf32>
    %145 = stablehlo.subtract %143, %144 : tensor<1x16x16x32xf32>
    %146 = stablehlo.add %arg21, %cst_5 : tensor<32xf32>
    %147 = stablehlo.rsqrt %146 : tensor<32xf32>
    %148 = stablehlo.broadcast_in_dim %147, dims = [3] : (tensor<32xf32>) -> tensor<1x16x16x32xf32>
    %149 = stablehlo.multiply %145, %148 : tensor<1x16x16x32xf32>
    %150 = stablehlo.broadcast_in_dim %arg72, dims = [3] : (tensor<32xf32>) -> tensor<1x16x16x32xf32>
    %151 = stablehlo.multiply %149, %150 : tensor<1x16x16x32xf32>
    %152 = stablehlo.broadcast_in_dim %arg71, dims = [3] : (tensor<32xf32>) -> tensor<1x16x16x32xf32>
    %153 = stablehlo.add %151, %152 : tensor<1x16x16x32xf32>
    %cst_9 = stablehlo.constant dense<0.000000e+00> : tensor<1x16x16x32xf32>
    %154 = stablehlo.maximum %153, %cst_9 : tensor<1x16x16x32xf32>
    %155 = stablehlo.convolution(%154, %arg70) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [1, 1], pad = [[1, 1], [1, 1]], lhs_dilate = [1, 1], rhs_dilate = [1, 1]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]} : (tensor<1x16x16x32xf32>, tensor<3x3x32x32xf32>) -> tensor<1x16x16x32xf32>
    %156 = stablehlo.broadcast_in_dim %arg22, dims = [3] : (tensor<32xf32>) -> tensor<1x16x16x32xf32>
    %157 = stablehlo.subtract %155, %156 : tensor<1x16x16x32xf32>
    %158 = stablehlo.add %arg23, %cst_5 : tensor<32xf32>
    %159 = stablehlo.rsqrt %158 : tensor<32xf32>
    %160 = stablehlo.broadcast_in_dim %159, dims = [3] : (tensor<32xf32>) -> tensor<1x16x16x32xf32>
    %161 = stablehlo.multiply %157, %160 : tensor<1x16x16x32xf32>
    %162 = stablehlo.broadcast_in_dim %arg74, dims = [3] : (tensor<32xf32>) -> tensor<1x16x16x32xf32>
    %163 = stablehlo.multiply %161, %162 : tensor<1x16x16x32xf32>
    %164 = stablehlo.broadcast_in_dim %arg73, dims = [3] : (tensor<32xf32>) -> tensor<1x16x16x32xf32>
    %165 = stablehlo.add %163, %164 : tensor<1x16x16x32xf32>
    %166 = stablehlo.add %142, %165 : tensor<1x16x16x32xf32>
    %167 = stablehlo.compare LE, %166, %cst_7, FLOAT : (tensor<1x16x16x32xf32>, tensor<1x16x16x32xf32>) -> tensor<1x16x16x32xi1>
    %168 = stablehlo.select %167, %cst_7, %166 : tensor<1x16x16x32xi1>, tensor<1x16x16x32xf32>
    %169 = stablehlo.convolution(%168, %arg75) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [2, 2], pad = [[0, 1], [0, 1]], lhs_dilate = [1, 1], rhs_dilate = [1, 1]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]} : (tensor<1x16x16x32xf32>, tensor<3x3x32x64xf32>) -> tensor<1x8x8x64xf32>
    %170 = stablehlo.broadcast_in_dim %arg24, dims = [3] : (tensor<64xf32>) -> tensor<1x8x8x64xf32>
    %171 = stablehlo.subtract %169, %170 : tensor<1x8x8x64xf32>
    %cst_10 = stablehlo.constant dense<9.99999974E-6> : tensor<64xf32>
    %172 = stablehlo.add %arg25, %cst_10 : tensor<64xf32>
    %173 = stablehlo.rsqrt %172 : tensor<64xf32>
    %174 = stablehlo.broadcast_in_dim %173, dims = [3] : (tensor<64xf32>) -> tensor<1x8x8x64xf32>
    %175 = stablehlo.multiply %171, %174 : tensor<1x8x8x64xf32>
    %176 = stablehlo.broadcast_in_dim %arg78, dims = [3] : (tensor<64xf32>) -> tensor<1x8x8x64xf32>
    %177 = stablehlo.multiply %175, %176 : tensor<1x8x8x64xf32>
    %178 = stablehlo.broadcast_in_dim %arg77, dims = [3] : (tensor<64xf32>) -> tensor<1x8x8x64xf32>
    %179 = stablehlo.add %177, %178 : tensor<1x8x8x64xf32>
    %cst_11 = stablehlo.constant dense<0.000000e+00> : tensor<1x8x8x64xf32>
    %180 = stablehlo.maximum %179, %cst_11 : tensor<1x8x8x64xf32>
    %181 = stablehlo.convolution(%180, %arg76) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [1, 1], pad = [[1, 1], [1, 1]], lhs_dilate = [1, 1], rhs_dilate = [1, 1]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]} : (tensor<1x8x8x64xf32>, tensor<3x3x64x64xf32>) -> tensor<1x8x8x64xf32>
    %182 = stablehlo.broadcast_in_dim %arg26, dims = [3] : (tensor<64xf32>) -> tensor<1x8x8x64xf32>
    %183 = stablehlo.subtract %181, %182 : tensor<1x8x8x64xf32>
    %184 = stablehlo.add %arg27, %cst_10 : tensor<64xf32>
    %185 = stablehlo.rsqrt %184 : tensor<64xf32>
    %186 = stablehlo.broadcast_in_dim %185, dims = [3] : (tensor<64xf32>) -> tensor<1x8x8x64xf32>
    %187 = stablehlo.multiply %183, %186 : tensor<1x8x8x64xf32>
    %188 = stablehlo.broadcast_in_dim %arg80, dims = [3] : (tensor<64xf32>) -> tensor<1x8x8x64xf32>
    %189 = stablehlo.multiply %187, %188 : tensor<1x8x8x64xf32>
    %190 = stablehlo.broadcast_in_dim %arg79, dims = [3] : (tensor<64xf32>) -> tensor<1x8x8x64xf32>
    %191 = stablehlo.add %189, %190 : tensor<1x8x8x64xf32>
    %192 = call @convolution_as_product_0(%168, %arg81) : (tensor<1x16x16x32xf32>, tensor<1x1x32x64xf32>) -> tensor<1x8x8x64xf32>
    %193 = stablehlo.add %192, %191 : tensor<1x8x8x64xf32>
    %cst_12 = stablehlo.constant dense<0.000000e+00> : tensor<1x8x8x64xf32>
    %194 = stablehlo.compare LE, %193, %cst_12, FLOAT : (tensor<1x8x8x64xf32>, tensor<1x8x8x64xf32>) -> tensor<1x8x8x64xi1>
    %195 = stablehlo.select %194, %cst_12, %193 : tensor<1x8x8x64xi1>, tensor<1x8x8x64xf32>
    %196 = stablehlo.convolution(%195, %arg82) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [1, 1], pad = [[1, 1], [1, 1]], lhs_dilate = [1, 1], rhs_dilate = [1, 1]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]} : (tensor<1x8x8x64xf32>, tensor<3x3x64x64xf32>) -> tensor<1x8x8x64xf32>
    %197 = stablehlo.broadcast_in_dim %arg28, dims = [3] : (tensor<64xf32>) -> tensor<1x8x8x64xf32>
    %198 = stablehlo.subtract %196, %197 : tensor<1x8x8x64xf32>
    %199 = stablehlo.add %arg29, %cst_10 : tensor<64xf32>
    %200 = stablehlo.rsqrt %199 : tensor<64xf32>
    %201 = stablehlo.broadcast_in_dim %200, dims = [3] : (tensor<64xf32>) -> tensor<1x8x8x64xf32>
    %202 = stablehlo.multiply %198, %201 : tensor<1x8x8x64xf32>
    %203 = stablehlo.broadcast_in_dim %arg85, dims = [3] : (tensor<64xf32>) -> tensor<1x8x8x64xf32>
    %204 = stablehlo.multiply %202, %203 : tensor<1x8x8x64xf32>
    %205 = stablehlo.broadcast_in_dim %arg84, dims = [3] : (tensor<64xf32>) -> tensor<1x8x8x64xf32>
    %206 = stablehlo.add %204, %205 : tensor<1x8x8x64xf32>
    %cst_13 = stablehlo.constant dense<0.000000e+00> : tensor<1x8x8x64xf32>
    %207 = stablehlo.maximum %206, %cst_13 : tensor<1x8x8x64xf32>
    %208 = stablehlo.convolution(%207, %arg83) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [1, 1], pad = [[1, 1], [1, 1]], lhs_dilate = [1, 1], rhs_dilate = [1, 1]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]} : (tensor<1x8x8x64xf32>, tensor<3x3x64x64xf32>) -> tensor<1x8x8x64xf32>
    %209 = stablehlo.broadcast_in_dim %arg30, dims = [3] : (tensor<64xf32>) -> tensor<1x8x8x64xf32>
    %210 = stablehlo.subtract %208, %209 : tensor<1x8x8x64xf32>
    %211 = stablehlo.add %arg31, %cst_10 : tensor<64xf32>
    %212 = stablehlo.rsqrt %211 : tensor<64xf32>
    %213 = stablehlo.broadcast_in_dim %212, dims = [3] : (tensor<64xf32>) -> tensor<1x8x8x64xf32>
    %214 = stablehlo.multiply %210, %213 : tensor<1x8x8x64xf32>
    %215 = stablehlo.broadcast_in_dim %arg87, dims = [3] : (tensor<64xf32>) -> tensor<1x8x8x64xf32>
    %216 = stablehlo.multiply %214, %215 : tensor<1x8x8x64xf32>
    %217 = stablehlo.broadcast_in_dim %arg86, dims = [3] : (tensor<64xf32>) -> tensor<1x8x8x64xf32>
    %218 = stablehlo.add %216, %217 : tensor<1x8x8x64xf32>
    %219 = stablehlo.add %195, %218 : tensor<1x8x8x64xf32>
    %220 = stablehlo.compare LE, %219, %cst_12, FLOAT : (tensor<1x8x8x64xf32>, tensor<1x8x8x64xf32>) -> tensor<1x8x8x64xi1>
    %221 = stablehlo.select %220, %cst_12, %219 : tensor<1x8x8x64xi1>, tensor<1x8x8x64xf32>
    %222 = stablehlo.convolution(%221, %arg88) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [1, 1], pad = [[1, 1], [1, 1]], lhs_dilate = [1, 1], rhs_dilate = [1, 1]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]} : (tensor<1x8x8x64xf32>, tensor<3x3x64x64xf32>) -> tensor<1x8x8x64xf32>
    %223 = stablehlo.broadcast_in_dim %arg32, dims = [3] : (tensor<64xf32>) -> tensor<1x8x8x64xf32>
    %224 = stablehlo.subtract %222, %223 : tensor<1x8x8x64xf32>
    %225 = stablehlo.add %arg33, %cst_10 : tensor<64xf32>
    %226 = stablehlo.rsqrt %225 : tensor<64xf32>
    %227 = stablehlo.broadcast_in_dim %226, dims = [3] : (tensor<64xf32>) -> tensor<1x8x8x64xf32>
    %228 = stablehlo.multiply %224, %227 : tensor<1x8x8x64xf32>
    %229 = stablehlo.broadcast_in_dim %arg91, dims = [3] : (tensor<64xf32>) -> tensor<1x8x8x64xf32>
    %230 = stablehlo.multiply %228, %229 : tensor<1x8x8x64xf32>
    %231 = stablehlo.broadcast_in_dim %arg90, dims = [3] : (tensor<64xf32>) -> tensor<1x8x8x64xf32>
    %232 = stablehlo.add %230, %231 : tensor<1x8x8x64xf32>
    %cst_14 = stablehlo.constant dense<0.000000e+00> : tensor<1x8x8x64xf32>
    %233 = stablehlo.maximum %232, %cst_14 : tensor<1x8x8x64xf32>
    %234 = stablehlo.convolution(%233, %arg89) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [1, 1], pad = [[1, 1], [1, 1]], lhs_dilate = [1, 1], rhs_dilate = [1, 1]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]} : (tensor<1x8x8x64xf32>, tensor<3x3x64x64xf32>) -> tensor<1x8x8x64xf32>
    %235 = stablehlo.broadcast_in_dim %arg34, dims = [3] : (tensor<64xf32>) -> tensor<1x8x8x64xf32>
    %236 = stablehlo.subtract %234, %235 : tensor<1x8x8x64xf32>
    %237 = stablehlo.add %arg35, %cst_10 : tensor<64xf32>
    %238 = stablehlo.rsqrt %237 : tensor<64xf32>
    %239 = stablehlo.broadcast_in_dim %238, dims = [3] : (tensor<64xf32>) -> tensor<1x8x8x64xf32>
    %240 = stablehlo.multiply %236, %239 : tensor<1x8x8x64xf32>
    %241 = stablehlo.broadcast_in_dim %arg93, dims = [3] : (tensor<64xf32>) -> tensor<1x8x8x64xf32>
    %242 = stablehlo.multiply %240, %241 : tensor<1x8x8x64xf32>
    %243 = stablehlo.broadcast_in_dim %arg92, dims = [3] : (tensor<64xf32>) -> tensor<1x8x8x64xf32>
    %244 = stablehlo.add %242, %243 : tensor<1x8x8x64xf32>
    %245 = stablehlo.add %221, %244 : tensor<1x8x8x64xf32>
    %cst_15 = stablehlo.constant dense<0.000000e+00> : tensor<1x8x8x64xf32>
    %246 = stablehlo.maximum %245, %cst_15 : tensor<1x8x8x64xf32>
    %cst_16 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %247 = stablehlo.reduce(%246 init: %cst_16) applies stablehlo.add across dimensions = [1, 2] : (tensor<1x8x8x64xf32>, tensor<f32>) -> tensor<1x64xf32>
    %cst_17 = stablehlo.constant dense<6.400000e+01> : tensor<1x64xf32>
    %248 = stablehlo.divide %247, %cst_17 : tensor<1x64xf32>
    %249 = stablehlo.dot_general %248, %arg97, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<1x64xf32>, tensor<64x10xf32>) -> tensor<1x10xf32>
    %250 = stablehlo.broadcast_in_dim %arg96, dims = [1] : (tensor<10xf32>) -> tensor<1x10xf32>
    %251 = stablehlo.add %249, %250 : tensor<1x10xf32>
    return %251 : tensor<1x10xf32>
  }
  func.func private @convolution_as_product(%arg0: tensor<1x32x32x16xf32>, %arg1: tensor<1x1x16x32xf32>) -> tensor<1x16x16x32xf32> {
    %0 = stablehlo.reshape %arg1 : (tensor<1x1x16x32xf32>) -> tensor<16x32xf32>
    %1 = stablehlo.slice %arg0 [0:1, 0:31:2, 0:31:2, 0:16] : (tensor<1x32x32x16xf32>) -> tensor<1x16x16x16xf32>
    %2 = stablehlo.dot_general %1, %0, contracting_dims = [3] x [0], precision = [DEFAULT, DEFAULT] : (tensor<1x16x16x16xf32>, tensor<16x32xf32>) -> tensor<1x16x16x32xf32>
    return %2 : tensor<1x16x16x32xf32>
  }
  func.func private @convolution_as_product_0(%arg0: tensor<1x16x16x32xf32>, %arg1: tensor<1x1x32x64xf32>) -> tensor<1x8x8x64xf32> {
    %0 = stablehlo.reshape %arg1 : (tensor<1x1x32x64xf32>) -> tensor<32x64xf32>
    %1 = stablehlo.slice %arg0 [0:1, 0:15:2, 0:15:2, 0:32] : (tensor<1x16x16x32xf32>) -> tensor<1x8x8x32xf32>
    %2 = stablehlo.dot_general %1, %0, contracting_dims = [3] x [0], precision = [DEFAULT, DEFAULT] : (tensor<1x8x8x32xf32>, tensor<32x64xf32>) -> tensor<1x8x8x64xf32>
    return %2 : tensor<1x8x8x64xf32>
  }
}
