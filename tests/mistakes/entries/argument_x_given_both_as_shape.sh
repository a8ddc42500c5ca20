olympus trace model:forward --shapes 'x=f32[]' --static x=1
# exit 2
# error: argument 'x' is given both as a shape and as a static
