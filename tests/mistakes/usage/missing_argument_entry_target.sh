olympus trace
# exit 2
# error: missing argument 'ENTRY|TARGET'
# hint: olympus trace --help lists its arguments and options
