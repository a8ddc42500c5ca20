# olympus lower needs_needs_argument_x.py:needs


def needs(x):
    return x * 2


# exit 2
# error: needs needs argument 'x'
# hint: --shapes "x=f32[8,128]" gives a shape, --static x=3 a value that is part of the program
