olympus trace model:worded --shapes 'f32[]'
# exit 3
# error: 'worded' returned a value of type str at result['y']; a staged function returns arrays, scalars and containers of these
#   model.py:59
#     def worded(x):
