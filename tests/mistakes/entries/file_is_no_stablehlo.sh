olympus cost words.mlir
# exit 5
# error: words.mlir is not StableHLO that can be read: line 1, column 1: custom op 'some' is unknown (tried 'builtin.some' as well)
