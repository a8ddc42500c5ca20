olympus trace program.py:f --shapes 'f32[b,8]'
# exit 2
# error: a size is a whole number, 0 or more; found 'b'
#   f32[b,8]
#       ^
# hint: sizes are fixed: write a number; for several sizes, write f32[{b},8] in olympus.toml, with `b = [1, 8]` in [target.NAME.matrix]
