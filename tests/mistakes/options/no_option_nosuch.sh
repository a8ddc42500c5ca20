olympus --nosuch trace f
# exit 2
# error: olympus has no option '--nosuch'
# hint: olympus --help lists its arguments and options
