# olympus trace python_float_traced_array_int32_was_2.py:f --shapes 'i32[]'


def f(n):
    return float(n)


# exit 3
# error: Abstract tracer value encountered where concrete value is expected: traced array with shape int32[]: the Python float was requested, at .../python_float_traced_array_int32_was_2.py:5: return float(n)
#   the array is the argument 'n' of 'f', and has no value while the function is traced: it depends on the value of the argument n
# hint: x.astype(float) converts the dtype of a traced array; else return the array from the traced function, and convert the result
