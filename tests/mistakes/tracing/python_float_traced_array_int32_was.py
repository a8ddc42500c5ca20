# olympus trace python_float_traced_array_int32_was.py:f --shapes 'i32[]'
import math


def f(n):
    return math.exp(n)


# exit 3
# error: Abstract tracer value encountered where concrete value is expected: traced array with shape int32[]: the Python float was requested, at .../python_float_traced_array_int32_was.py:6: return math.exp(n)
#   the array is the argument 'n' of 'f', and has no value while the function is traced: it depends on the value of the argument n
# hint: use olympus.numpy.exp, which takes traced arrays
