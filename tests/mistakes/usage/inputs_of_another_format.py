# olympus run inputs_of_another_format.py:f --shapes 'x=f32[4]' --inputs inputs_of_another_format.py


def f(x):
    return x


# exit 2
# error: inputs_of_another_format.py cannot be read as a .npy or .npz file: it has another format, or its end is missing
# hint: numpy.save and numpy.savez write such files
