# olympus lower integer_value_traced_array_int32_was_2.py:index --shapes 'n=i32[]'


def index(n):
    return [1.0, 2.0][n]


# exit 3
# error: The __index__() method was called on traced array with shape int32[], at .../integer_value_traced_array_int32_was_2.py:5: return [1.0, 2.0][n]
#   the array is the argument 'n' of 'index', and has no value while the function is traced: it depends on the value of the argument n
# hint: olympus.numpy.stack(items)[i] takes a traced index; else make 'n' static: --static n=0
