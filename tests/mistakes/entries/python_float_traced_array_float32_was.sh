olympus trace math:sin --shapes 'f32[]'
# exit 3
# error: Abstract tracer value encountered where concrete value is expected: traced array with shape float32[]: the Python float was requested
#   the array is the argument 'x' of 'sin', and has no value while the function is traced: it depends on the value of the argument x
# hint: x.astype(float) converts the dtype of a traced array; else return the array from the traced function, and convert the result
