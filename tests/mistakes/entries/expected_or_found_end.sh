olympus trace add --shapes 'f32[2'
# exit 2
# error: expected ',' or ']', found the end
#   f32[2
#        ^
# hint: a shape is written f32[8,128]; a scalar is f32[]
