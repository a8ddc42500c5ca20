olympus lower m:f --format mlir
# exit 2
# error: invalid value for '--format': 'mlir' is not one of 'stablehlo', 'hlo', 'olympuspr', 'dot', 'bytecode'
# hint: olympus lower --help lists its arguments and options
