olympus trace math:sin --shapes 'f32[]'
# exit 3
# error: the Python float of a traced array float32[] was requested
#   the array is the argument 'x' of 'sin', and has no value while the function is traced
# hint: x.astype(float) converts the dtype of a traced array; else return the array from the traced function, and convert the result
