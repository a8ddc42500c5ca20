olympus --nope
# exit 2
# error: olympus has no option '--nope'
# hint: olympus --help lists its arguments and options
