# olympus trace returns_set.py:f --shapes 'f32[4]'


def f(x):
    return {x}


# exit 3
# error: f raised TypeError while it was traced: unhashable type: 'Array'
#   returns_set.py:5
#     return {x}
# hint: an array is not hashable: use a tuple or a list instead of a set, and a string or an integer as the key of a dict
