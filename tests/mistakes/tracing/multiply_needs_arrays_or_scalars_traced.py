# olympus trace multiply_needs_arrays_or_scalars_traced.py:text_rate --shapes 'f32[4]'


def text_rate(x, lr="3e-4"):
    return lr * x


# exit 3
# error: unsupported operand type(s) for *: 'str' and 'Array': multiply needs arrays or scalars, and got a traced array f32[4] and a str '3e-4'
#   multiply_needs_arrays_or_scalars_traced.py:5
#     return lr * x
# hint: turn a text into a number with float(...) or int(...)
