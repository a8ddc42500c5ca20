olympus trace model.py
# exit 2
# error: 'model.py' names no function
# hint: write model.py:forward, for example
