# olympus trace integer_value_traced_array_int32_was.py:f --shapes 'i32[]'


def f(n):
    return list(range(n))


# exit 3
# error: The __index__() method was called on traced array with shape int32[], at .../integer_value_traced_array_int32_was.py:5: return list(range(n))
#   the array is the argument 'n' of 'f', and has no value while the function is traced: it depends on the value of the argument n
# hint: take the size from the shape of an array, such as x.shape[0], or make 'n' static: --static n=8, or static_argnames="n" of olympus.jit; olympus.lax.fori_loop runs a loop a traced number of times
