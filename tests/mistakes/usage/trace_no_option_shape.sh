olympus trace m:f --shape x
# exit 2
# error: olympus trace has no option '--shape'
# hint: did you mean --shapes?
