olympus trace m:f -x
# exit 2
# error: olympus trace has no option '-x'
# hint: olympus trace --help lists its arguments and options
