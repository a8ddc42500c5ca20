olympus trace model:forwrd
# exit 2
# error: there is no function 'forwrd' in model (model.py)
# hint: did you mean forward?
