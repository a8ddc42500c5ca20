olympus build -j 0
# exit 2
# error: invalid value for '-j' / '--jobs': must be at least 1; got 0
# hint: olympus build --help lists its arguments and options
