olympus --json trace f
# exit 2
# error: olympus has no option '--json'
# hint: put the option after the command: olympus trace --json f
