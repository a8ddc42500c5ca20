olympus trace odd:pair --shapes 'x=f32[2]'
# exit 3
# error: 'pair' returned a value of type Pair; a staged function returns arrays, scalars and containers of these
#   odd.py:41
#     def pair(x):
# hint: olympus.tree_util.register_dataclass(Pair) makes Pair a container
