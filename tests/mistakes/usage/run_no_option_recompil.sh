olympus run m:f --recompil
# exit 2
# error: olympus run has no option '--recompil'
# hint: did you mean --recompile or --no-recompile?
