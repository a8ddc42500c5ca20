olympus trace model:mismatched --shapes 'f32[2,3], f32[2,3]'
# exit 3
# error: dot_general requires contracting dimensions to have the same shape, got (3,) and (2,), in matmul of float32[2,3] and float32[2,3]
#   model.py:41
#     return x @ y
