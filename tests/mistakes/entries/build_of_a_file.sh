olympus build matrix.mlir
# exit 2
# error: 'matrix.mlir' is an entry, and build takes targets of olympus.toml
# hint: olympus compile matrix.mlir --shapes ... compiles an entry
