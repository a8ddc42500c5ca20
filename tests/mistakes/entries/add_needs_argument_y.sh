olympus trace model:add --shapes 'f32[2]'
# exit 2
# error: add needs argument 'y'
# hint: --shapes "y=f32[8,128]" gives a shape, --static y=3 a value that is part of the program
