# olympus trace numpy_value_traced_array_int32_was.py:f --shapes 'i32[]'
import numpy


def f(n):
    return numpy.exp(n)


# exit 3
# error: The numpy.ndarray conversion method __array__() was called on traced array with shape int32[], at .../numpy_value_traced_array_int32_was.py:6: return numpy.exp(n)
#   the array is the argument 'n' of 'f', and has no value while the function is traced: it depends on the value of the argument n
# hint: use olympus.numpy.exp, which takes traced arrays
