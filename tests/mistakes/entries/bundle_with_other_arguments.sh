olympus lower add.olympus --shapes "f32[3], f32[3]"
# exit 2
# error: argument 'x' of add.olympus has the type float32[2], and got float32[3]
# hint: a bundle has the types that it was built for; leave its shapes out, or build its source (model:add) for others
olympus lower add.olympus --shapes "z=f32[2]"
# exit 2
# error: add.olympus has no argument 'z'
# hint: its arguments are x, y
olympus lower add.olympus --shapes "f32[2], f32[2], f32[2]"
# exit 2
# error: add.olympus takes 2 positional arguments, and 3 shapes are given
# hint: leave its shapes out: a bundle has the types of its arguments
olympus lower add.olympus --shapes "{from=model:add}, f32[2]"
# exit 2
# error: argument 'x' of add.olympus needs a shape, because the arguments of a bundle are arrays on one device
# hint: leave its shapes out: a bundle has the types of its arguments
olympus cost add.olympus --static n=3
# exit 2
# error: static is for a Python function, and add.olympus is a file
olympus trace add.olympus:add
# exit 2
# error: add.olympus:add names a function, and a bundle is one program
# hint: write add.olympus
