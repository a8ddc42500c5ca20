olympus trace model:forward --shapes 'z=f32[]'
# exit 2
# error: forward has no argument 'z'
# hint: its arguments are params, relu, scale, x
