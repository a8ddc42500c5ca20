olympus cost model:add --shapes 'x=8, y=f32[2]'
# exit 2
# error: argument 'x' of add needs a shape, and got the number 8
# hint: --static x=8 gives a value that is part of the program; an array of one number has the shape i32[]
