olympus trace model:mismatched --shapes 'f32[2,3], f32[2,3]'
# exit 3
# error: matmul needs shapes (..., n, k) and (..., k, m), and got float32[2,3] and float32[2,3]
#   model.py:41
#     return x @ y
