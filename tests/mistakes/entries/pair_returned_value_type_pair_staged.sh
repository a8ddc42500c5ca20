olympus trace odd:pair --shapes 'x=f32[2]'
# exit 3
# error: function 'pair' traced for jit returned a value of type <class 'odd.Pair'>, which is not a valid JAX type: a staged function returns arrays, scalars and containers of these
#   odd.py:36
#     def pair(x):
# hint: olympus.tree_util.register_dataclass(Pair) makes Pair a container
