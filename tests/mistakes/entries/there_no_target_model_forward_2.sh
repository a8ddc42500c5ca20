olympus trace model.py.forward
# exit 2
# error: no target is named 'model.py.forward' in olympus.toml
# hint: did you mean model.py:forward?
