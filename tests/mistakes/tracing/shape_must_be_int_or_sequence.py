# olympus trace shape_must_be_int_or_sequence.py:traced_shape --shapes 'f32[4]'
import olympus.numpy as np


def traced_shape(x):
    return np.zeros((x, 3))


# exit 3
# error: Shapes must be 1D sequences of concrete values of integer type, got (a traced array f32[4], 3) as shape
#   shape_must_be_int_or_sequence.py:6
#     return np.zeros((x, 3))
# hint: take the size from the shape of an array, such as x.shape[0], or make 'x' static: --static x=8, or static_argnames="x" of olympus.jit
