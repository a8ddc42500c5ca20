olympus --project . build f
# exit 2
# error: olympus has no option '--project'
# hint: put the option after the command: olympus build --project . f
