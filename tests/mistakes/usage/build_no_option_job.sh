olympus build --job 3
# exit 2
# error: olympus build has no option '--job'
# hint: did you mean --jobs?
