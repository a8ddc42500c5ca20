olympus trac
# exit 2
# error: no command is named 'trac'
# hint: did you mean trace?
