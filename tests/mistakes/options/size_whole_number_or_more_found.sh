olympus trace program.py:f --shapes 'f32[{b},8]'
# exit 2
# error: a size is a whole number, 0 or more; found '{'
#   f32[{b},8]
#       ^
# hint: a matrix of olympus.toml fills {name}: write `name = [1, 8]` in [target.NAME.matrix]; a symbolic size has no braces: f32[b,8]
