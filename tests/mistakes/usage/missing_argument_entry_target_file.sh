olympus run
# exit 2
# error: missing argument 'ENTRY|TARGET|FILE.olympus'
# hint: olympus run --help lists its arguments and options
