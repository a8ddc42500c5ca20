# olympus trace python_value_traced_array_int32_was.py:f --shapes 'i32[]'


def f(n):
    return n.item()


# exit 3
# error: Abstract tracer value encountered where concrete value is expected: traced array with shape int32[]: the Python value was requested, at .../python_value_traced_array_int32_was.py:5: return n.item()
#   the array is the argument 'n' of 'f', and has no value while the function is traced: it depends on the value of the argument n
# hint: use the array without this call: operations take it as it is; else return the array from the traced function, and convert the result
