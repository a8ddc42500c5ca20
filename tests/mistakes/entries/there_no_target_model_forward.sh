olympus trace model.forward
# exit 2
# error: no target is named 'model.forward' in olympus.toml
# hint: did you mean model:forward?
