olympus trace m:f x
# exit 2
# error: got unexpected extra argument (x)
# hint: olympus trace --help lists its arguments and options
