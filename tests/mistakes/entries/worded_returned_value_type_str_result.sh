olympus trace model:worded --shapes 'f32[]'
# exit 3
# error: function 'worded' traced for jit returned a value of type <class 'str'> at output component ['y'], which is not a valid JAX type: a staged function returns arrays, scalars and containers of these
#   model.py:59
#     def worded(x):
