# olympus trace adds_none_raised_typeerror_while_was_traced.py:adds_none --shapes 'f32[4]'


def adds_none(x):
    return x + None


# exit 3
# error: adds_none raised TypeError while it was traced: unsupported operand type(s) for +: 'Array' and 'NoneType'
#   adds_none_raised_typeerror_while_was_traced.py:5
#     return x + None
