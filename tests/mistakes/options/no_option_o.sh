olympus -o x trace f
# exit 2
# error: olympus has no option '-o'
# hint: put the option after the command: olympus trace -o x f
