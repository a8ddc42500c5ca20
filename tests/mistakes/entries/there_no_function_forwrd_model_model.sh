olympus trace model:forwrd
# exit 2
# error: model (model.py) has no function 'forwrd'
# hint: did you mean forward?
