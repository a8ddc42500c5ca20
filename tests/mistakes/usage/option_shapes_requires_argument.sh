olympus trace m:f --shapes
# exit 2
# error: option '--shapes' requires an argument
