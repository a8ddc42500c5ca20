# olympus trace misspelt_raised_attributeerror_while_was_traced.py:misspelt --shapes 'f32[4]'
import olympus.numpy as np


def misspelt(x):
    return np.sofmax(x)


# exit 3
# error: misspelt raised AttributeError while it was traced: module 'olympus.numpy' has no attribute 'sofmax'
#   misspelt_raised_attributeerror_while_was_traced.py:6
#     return np.sofmax(x)
# hint: did you mean olympus.nn.softmax?
