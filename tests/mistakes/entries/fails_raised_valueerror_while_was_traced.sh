olympus trace model:fails --shapes 'f32[2]'
# exit 3
# on the way
# error: fails raised ValueError while it was traced: the width is odd
#   model.py:31
#     raise ValueError("the width is odd")
